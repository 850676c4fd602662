/* shim/watch/ring.c: threads that get in each other's way take numbers by runs. No event is lost by that, all are counted, and
 * who is alone or slow takes one number at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shim/base/err.h"
#include "shim/core/counter.h"
#include "shim/watch/ring.h"

#define CAPACITY 65536u
#define WRITERS 4u
#define EVENTS_EACH 150000u
#define RUN_MOST 32u
#define MS 1000000u

static uint64_t added; /* by all tests so far */

static struct gs_counter_block *block_of(unsigned thread)
{
	static struct gs_counter_block *blocks[WRITERS];

	if (blocks[thread] == NULL)
		blocks[thread] = calloc(1, sizeof(*blocks[thread]));
	return blocks[thread];
}

static void add_as(unsigned thread, uint64_t time_ns)
{
	struct gs_event event = {.time_ns = time_ns, .address = added, .thread = thread};

	gs_thread.counters = block_of(thread);
	gs_ring_add(&event);
	added++;
}

static unsigned readable(void)
{
	struct gs_event event;
	unsigned count = 0;

	for (uint64_t at = gs_ring_begin(); at < gs_ring_end(); at++)
		count += gs_ring_read(at, &event) == GS_OK;
	return count;
}

static void a_thread_that_is_alone_takes_no_runs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		add_as(0, i);
	assert_int_equal(gs_ring_end(), added);
	assert_int_equal(gs_ring_added(gs_ring_end()), added);
	assert_int_equal(readable(), added);
}

static void slow_threads_take_no_runs(void **state)
{
	uint64_t end = gs_ring_end();

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		add_as(i % 2, i * MS);
	assert_int_equal(gs_ring_end() - end, 1000);
}

/* By turns, and fast. What a thread has left of its run is used when it goes on soon, and else given up. */
static void threads_by_turns_take_runs(void **state)
{
	uint64_t end = gs_ring_end(), numbers;
	unsigned before = readable();

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		add_as(i % 2, 2000ull * MS + i);
	numbers = gs_ring_end() - end;
	assert_in_range(numbers, 1000, 1000 + 2 * (RUN_MOST - 1));
	assert_int_equal(gs_ring_added(gs_ring_end()), added);
	for (unsigned i = 0; i < 100; i++)
		add_as(i % 2, (3000ull + i) * MS);
	assert_in_range(gs_ring_end() - end - numbers, 100 - 2 * 1, 100 + 2 * 1);
	assert_int_equal(gs_ring_added(gs_ring_end()), added);
	assert_int_equal(readable() - before, 1100);
}

/* Numbers that were nobody's event are not counted, however often their slots come round. */
static void what_is_counted_is_true_after_laps(void **state)
{
	(void)state;
	for (unsigned lap = 0; lap < 3; lap++) {
		for (unsigned i = 0; i < 2 * CAPACITY / 3; i++) {
			uint64_t burst = i / 100;

			add_as(i % 2, (5000ull + 1000 * lap + burst) * MS + i);
		}
		assert_int_equal(gs_ring_added(gs_ring_end()), added);
	}
	assert_true(gs_ring_end() > added);
	assert_true(readable() >= CAPACITY / 2);
}

static void *writer_main(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;

	gs_thread.counters = block_of(thread);
	for (uint64_t number = 0; number < EVENTS_EACH; number++) {
		struct gs_event event = {.time_ns = 10000ull * MS + number * 100, .address = number, .thread = thread};

		gs_ring_add(&event);
	}
	return NULL;
}

/* A thread's events follow each other. What is missing among them met the slot of a writer that the system had stopped there for a
 * whole round (test_watch_ring_stopped.c): no more than a run for each of the others. The rest of a run may be nobody's. */
static void threads_at_once(void **state)
{
	uint64_t next[WRITERS] = {0}, kept = 0, missing = 0;
	pthread_t writers[WRITERS];
	struct gs_event event;

	(void)state;
	for (uintptr_t at = 0; at < WRITERS; at++)
		assert_int_equal(pthread_create(&writers[at], NULL, writer_main, (void *)at), 0);
	for (unsigned at = 0; at < WRITERS; at++)
		pthread_join(writers[at], NULL);
	added += WRITERS * EVENTS_EACH;
	assert_int_equal(gs_ring_added(gs_ring_end()), added);
	for (uint64_t at = gs_ring_begin(); at < gs_ring_end(); at++) {
		if (gs_ring_read(at, &event) != GS_OK)
			continue;
		kept++;
		assert_true(event.address >= next[event.thread]);
		if (next[event.thread] != 0)
			missing += event.address - next[event.thread];
		next[event.thread] = event.address + 1;
	}
	for (unsigned at = 0; at < WRITERS; at++)
		if (next[at] != 0)
			missing += EVENTS_EACH - next[at];
	assert_true(missing <= (WRITERS - 1) * RUN_MOST);
	assert_true(missing <= CAPACITY - kept);
	assert_true(kept >= CAPACITY - (2 * WRITERS - 1) * RUN_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_thread_that_is_alone_takes_no_runs),
	    cmocka_unit_test(slow_threads_take_no_runs),
	    cmocka_unit_test(threads_by_turns_take_runs),
	    cmocka_unit_test(what_is_counted_is_true_after_laps),
	    cmocka_unit_test(threads_at_once),
	};

	if (gs_ring_init(CAPACITY) != GS_OK)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("runs of the ring", tests, NULL, NULL);
}
