/* The submission queue at rest: the quick questions and flushes come to the same as the thorough ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "graph/queue.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

enum { PAUSE_TICKS = 1000, STEPS = 20000 };

static struct gsg_queue quick, thorough, busy;
static _Atomic bool held_up;

static uint64_t run(void *user, const struct gsg_record *record, uint64_t position)
{
	(void)user;
	(void)record;
	(void)position;
	while (atomic_load(&held_up))
		gsb_os_nap();
	return GSG_NONE_HELD;
}

static void start(struct gsg_queue *queue)
{
	const struct gsg_queue_options options = {.ring_bytes = 512 << 10, .spin_ns = 20000, .pause_ticks = PAUSE_TICKS};

	assert_int_equal(gsg_queue_start(queue, run, NULL, &options), GS_OK);
}

static void put(struct gsg_queue *queue, uint64_t now)
{
	assert_non_null(gsg_queue_put_begin(queue, 1, sizeof(struct gsg_record), now));
	gsg_queue_put_end(queue);
}

static void rest_both(uint32_t wake_at)
{
	struct gsg_queue *queues[] = {&quick, &thorough};

	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&queues[i]->resting, true);
		atomic_store(&queues[i]->wake_at, wake_at);
		atomic_store(&queues[i]->run_length, 0);
	}
}

static void assert_same(void)
{
	assert_int_equal(atomic_load(&quick.resting), atomic_load(&thorough.resting));
	assert_int_equal(atomic_load(&quick.run_length), atomic_load(&thorough.run_length));
	assert_int_equal(atomic_load(&quick.run_ticks), atomic_load(&thorough.run_ticks));
}

/* Pieces of work and flushes, with pauses and without, until work is put again. */
static void test_same(void **state)
{
	uint64_t now = 1;
	unsigned rested = 0, woken = 0;

	(void)state;
	start(&quick);
	start(&thorough);
	srand(1);
	for (unsigned step = 0; step < STEPS; step++) {
		bool rests, wants;

		now += rand() % 20 == 0 ? 3 * PAUSE_TICKS : 10;
		if (rand() % 5 == 0) {
			assert_true(gsg_queue_flush_resting(&quick));
			gsg_queue_flush(&thorough);
			assert_same();
			continue;
		}
		rests = gsg_queue_rests(&quick, now);
		wants = !rests && gsg_queue_wants(&quick, now);
		assert_int_equal(wants, gsg_queue_wants(&thorough, now));
		assert_same();
		rested += rests;
		woken += wants;
		if (wants)
			rest_both(1 + (uint32_t)rand() % 16);
	}
	assert_in_range(rested, STEPS / 4, STEPS);
	assert_in_range(woken, STEPS / 100, STEPS);
}

/* What is put and has not run is waited for, though the queue would rest. */
static void test_not_empty(void **state)
{
	(void)state;
	start(&busy);
	assert_true(gsg_queue_rests(&busy, 1));
	assert_true(gsg_queue_flush_resting(&busy));
	atomic_store(&held_up, true);
	put(&busy, 2);
	assert_false(gsg_queue_rests(&busy, 3));
	assert_false(gsg_queue_flush_resting(&busy));
	atomic_store(&held_up, false);
	gsg_queue_catch_up(&busy);
	while (!gsg_queue_flush_resting(&busy))
		gsg_queue_flush(&busy);
	assert_true(gsg_queue_rests(&busy, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_not_empty)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph rest", tests, NULL, NULL);
}
