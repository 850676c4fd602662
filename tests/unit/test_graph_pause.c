/* The submission queue holds on to what is held while somebody is about to put more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <unistd.h>

#include "graph/queue.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

enum { GROUP = 10, HOLD_NS = 50000000 };

static struct gsg_queue queue;
static uint64_t first; /* that is held */
static uint32_t held;
static _Atomic uint32_t ran, settled[2]; /* by reason */

static uint64_t run(void *user, const struct gsg_record *record, uint64_t position)
{
	(void)user;
	(void)record;
	if (held++ == 0)
		first = position;
	if (held < GROUP)
		return first;
	atomic_fetch_add(&ran, held);
	held = 0;
	return GSG_NONE_HELD;
}

static void settle(void *user, enum gsg_settle_reason reason)
{
	(void)user;
	atomic_fetch_add(&settled[reason], 1);
	atomic_fetch_add(&ran, held);
	held = 0;
}

static void put(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		assert_non_null(gsg_queue_put_begin(&queue, 1, sizeof(struct gsg_record), 0));
		gsg_queue_put_end(&queue);
	}
}

/* Who waits meanwhile does not wait for that. */
static void test_pause(void **state)
{
	const struct gsg_queue_options options = {
	    .ring_bytes = 512 << 10, .spin_ns = 20000, .settle = settle, .hold_ns = HOLD_NS};

	(void)state;
	assert_int_equal(gsg_queue_start(&queue, run, NULL, &options), GS_OK);
	gsg_queue_pause(&queue, true);
	put(GROUP / 2);
	usleep(2 * HOLD_NS / 1000);
	assert_int_equal(ran, 0);
	gsg_queue_pause(&queue, false);
	usleep(HOLD_NS / 5000); /* for as long as it takes to put the next one, on a busy machine */
	assert_int_equal(ran, 0);
	gsg_queue_pause(&queue, true);
	put(GROUP);
	gsg_queue_flush(&queue);
	assert_int_equal(ran, GROUP + GROUP / 2);
	assert_int_equal(settled[GSG_SETTLE_LATE], 0);
	put(1);
	gsg_queue_pause(&queue, false);
	while (ran != GROUP + GROUP / 2 + 1)
		gsb_os_nap();
	assert_int_equal(settled[GSG_SETTLE_LATE], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pause)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph pause", tests, NULL, NULL);
}
