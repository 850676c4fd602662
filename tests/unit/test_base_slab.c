/* Nodes from pages of our own: zeroed, aligned, apart from each other, reused; and what happens without pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/slab.h"

enum { NODES = 5000, NODE_BYTES = 40 };

static void test_nodes(void **state)
{
	static unsigned char *nodes[NODES];
	struct gsb_slab slab;
	size_t made;

	(void)state;
	gsb_slab_init(&slab, NODE_BYTES);
	assert_int_equal(slab.node_bytes, 48);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < NODES; i++) {
			nodes[i] = gsb_slab_take(&slab);
			assert_non_null(nodes[i]);
			assert_int_equal((uintptr_t)nodes[i] % 16, 0);
			for (unsigned j = 0; j < NODE_BYTES; j++)
				assert_int_equal(nodes[i][j], 0);
			memset(nodes[i], (int)i | 1, NODE_BYTES);
		}
		for (unsigned i = 0; i < NODES; i++) {
			for (unsigned j = 0; j < NODE_BYTES; j++)
				assert_int_equal(nodes[i][j], (unsigned char)(i | 1));
		}
		assert_int_equal(slab.total_count - slab.free_count, NODES);
		made = slab.total_count;
		for (unsigned i = 0; i < NODES; i++)
			gsb_slab_give(&slab, nodes[(i * 7919u) % NODES]);
		assert_int_equal(slab.free_count, slab.total_count);
	}
	assert_int_equal(slab.total_count, made);
}

static void test_reserve(void **state)
{
	struct gsb_slab slab;

	(void)state;
	gsb_slab_init(&slab, 1000);
	assert_int_equal(gsb_slab_reserve(&slab, 100), GS_OK);
	assert_true(slab.free_count >= 100);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 1000);
	for (unsigned i = 0; i < 100; i++)
		assert_non_null(gsb_slab_take(&slab));
	assert_int_equal(gsb_fault_fired(GSB_FAULT_SLAB), 0);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 0);
}

/* The nth refill fails, for every n until none does: what was there stays usable. */
static void test_no_pages(void **state)
{
	unsigned fired = 1;

	(void)state;
	for (unsigned passes = 0; fired > 0; passes++) {
		struct gsb_slab slab;
		size_t before;

		gsb_slab_init(&slab, 4096);
		gsb_fault_arm(GSB_FAULT_SLAB, passes, 1);
		errno = EXDEV;
		if (gsb_slab_reserve(&slab, 40) != GS_OK) {
			assert_int_equal(gsb_fault_fired(GSB_FAULT_SLAB), 1);
			before = slab.free_count;
			assert_int_equal(before, slab.total_count);
			assert_true(before < 40);
			assert_int_equal(gsb_slab_reserve(&slab, 40), GS_OK);
		}
		assert_int_equal(errno, EXDEV);
		assert_true(slab.free_count >= 40);
		fired = gsb_fault_fired(GSB_FAULT_SLAB);
		assert_true(passes < 10);
	}

	struct gsb_slab empty;

	gsb_slab_init(&empty, 64);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 1);
	assert_null(gsb_slab_take(&empty));
	assert_int_equal(empty.total_count, 0);
	assert_non_null(gsb_slab_take(&empty));
}

/* AddressSanitizer ends a process that uses a node after it was given, or gives it twice. */
#ifdef __SANITIZE_ADDRESS__
enum misuse { MISUSE_NONE, MISUSE_READ, MISUSE_GIVE };

static int status_after(enum misuse misuse)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		struct gsb_slab slab;
		volatile char *node;

		close(STDERR_FILENO);
		gsb_slab_init(&slab, NODE_BYTES);
		node = gsb_slab_take(&slab);
		gsb_slab_give(&slab, (void *)node);
		if (misuse == MISUSE_GIVE)
			gsb_slab_give(&slab, (void *)node);
		_exit(misuse == MISUSE_READ ? node[NODE_BYTES - 1] : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void test_misuse(void **state)
{
	(void)state;
	assert_int_equal(status_after(MISUSE_NONE), 0);
	assert_int_not_equal(status_after(MISUSE_READ), 0);
	assert_int_not_equal(status_after(MISUSE_GIVE), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nodes),
	    cmocka_unit_test(test_reserve),
	    cmocka_unit_test(test_no_pages),
#ifdef __SANITIZE_ADDRESS__
	    cmocka_unit_test(test_misuse),
#endif
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("slab", tests, NULL, NULL);
}
