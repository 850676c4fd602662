/* The fence between who writes often and who writes seldom: of two that write one word and then read the other's, one sees what
 * the other wrote. Before the kernel is asked, after, in a child, and once the kernel refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fence.h"
#include "shim/base/os.h"

enum { STEPS = 1 << 20, ROUNDS = 1 << 20, MEETINGS = 20000, MOST_NS = 1000000000 };

static _Alignas(64) _Atomic uint32_t step;  /* written often */
static _Alignas(64) _Atomic uint32_t round_now; /* written seldom */
static _Alignas(64) _Atomic uint32_t slow;  /* written by both: what is written after it is long on its way */
static uint32_t round_seen[STEPS + 1], step_seen[ROUNDS + 1];
static _Atomic bool done;

static void *write_often(void *unused)
{
	(void)unused;
	for (uint32_t i = 1; i <= STEPS; i++) {
		atomic_store_explicit(&slow, i, memory_order_relaxed);
		atomic_store_explicit(&step, i, memory_order_release);
		gsb_fence_light();
		round_seen[i] = atomic_load_explicit(&round_now, memory_order_relaxed);
	}
	atomic_store(&done, true);
	return NULL;
}

/* How often neither saw the other. *met: rounds in which both went on. */
static unsigned both_missed(unsigned *met)
{
	uint32_t rounds = 0, last = 0;
	unsigned missed = 0;
	pthread_t thread;

	atomic_store(&step, 0);
	atomic_store(&round_now, 0);
	atomic_store(&done, false);
	assert_int_equal(pthread_create(&thread, NULL, write_often, NULL), 0);
	while (atomic_load(&step) == 0)
		sched_yield();
	while (!atomic_load(&done) && rounds < ROUNDS) {
		rounds++;
		atomic_store_explicit(&slow, rounds, memory_order_relaxed);
		atomic_store_explicit(&round_now, rounds, memory_order_release);
		gsb_fence_heavy();
		step_seen[rounds] = atomic_load_explicit(&step, memory_order_relaxed);
	}
	pthread_join(thread, NULL);
	for (uint32_t i = 1; i <= rounds; i++) {
		while (last < STEPS && round_seen[last + 1] < i)
			last++;
		missed += step_seen[i] < last;
		*met += i > 1 && step_seen[i] != step_seen[i - 1];
	}
	return missed;
}

/* Until the two have met often, which they do when they run at the same time. */
static unsigned missed_often(void)
{
	uint64_t start_ns = gsb_os_now_ns();
	unsigned met = 0, missed = 0;

	while (met < MEETINGS && gsb_os_now_ns() - start_ns < MOST_NS)
		missed += both_missed(&met);
	return missed;
}

static bool refuse_barriers(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CANNOT_REFUSE = 77 };

static int in_child(void (*scenario)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		scenario();
		_exit(missed_often() != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void nothing(void)
{
}

static void refuse_first(void)
{
	if (!refuse_barriers())
		_exit(CANNOT_REFUSE);
	gsb_fence_start();
	if (gsb_fence_lopsided)
		_exit(2);
}

/* The first round may be missed. */
static void refuse_later(void)
{
	if (!refuse_barriers())
		_exit(CANNOT_REFUSE);
	errno = EDOM;
	gsb_fence_heavy();
	if (errno != EDOM)
		_exit(2);
}

static void test_full(void **state)
{
	(void)state;
	assert_false(gsb_fence_lopsided);
	assert_int_equal(missed_often(), 0);
}

static void test_refused(void **state)
{
	int status = in_child(refuse_first);

	(void)state;
	if (status == CANNOT_REFUSE)
		skip();
	assert_int_equal(status, 0);
}

static void test_lopsided(void **state)
{
	(void)state;
	gsb_fence_start();
	assert_int_equal(missed_often(), 0);
}

static void test_child(void **state)
{
	(void)state;
	gsb_fence_start();
	assert_int_equal(in_child(nothing), 0);
}

/* By a filter of system calls that the program sets after it has started. */
static void test_refused_later(void **state)
{
	int status;

	(void)state;
	gsb_fence_start();
	status = in_child(refuse_later);
	if (status == CANNOT_REFUSE)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),  cmocka_unit_test(test_refused),	    cmocka_unit_test(test_lopsided),
		cmocka_unit_test(test_child), cmocka_unit_test(test_refused_later),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
