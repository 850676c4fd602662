/* shim/watch/step.c: what steps, loops and the longest ones hold, and when a program counts as held up by launching. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "shim/core/counter.h"
#include "shim/watch/finder.h"
#include "shim/watch/step.h"

#define MS 3000000ull /* ticks, whatever they are in nanoseconds */

static uint64_t now = 1000 * MS;

static void round_of(uint32_t name, uint64_t wall, uint64_t launches, uint64_t launch, uint64_t device_ns)
{
	gs_figure_add(GS_FIGURE_LAUNCHES, launches);
	gs_figure_add(GS_FIGURE_LAUNCH, launch);
	gs_figure_add(GS_FIGURE_DEVICE, device_ns);
	now += wall;
	gs_step_found(GS_FOUND_ROUND, name, 1, true, now);
}

static void loops_and_steps(void **state)
{
	static struct gs_step steps[GS_STEPS_KEPT + GS_STEP_LOOPS * GS_STEP_LONGEST];
	struct gs_loop loop;
	uint64_t step_ns;
	size_t count;

	(void)state;
	gs_step_found(GS_FOUND_LOOP, 5, 1, false, now);
	for (unsigned i = 0; i < 3 * GS_STEPS_KEPT; i++)
		round_of(5, i == 100 ? 500 * MS : 10 * MS, 7, MS, 0);
	assert_int_equal(gs_loop_count(), 1);
	gs_loop_read(0, &loop);
	step_ns = gs_ticks_to_ns(10 * MS);
	assert_int_equal(loop.steps, 3 * GS_STEPS_KEPT);
	assert_int_equal(loop.figures[GS_FIGURE_LAUNCHES], 7 * 3 * GS_STEPS_KEPT);
	/* Ticks become nanoseconds by what both clocks did so far, which is little yet. */
	assert_in_range(loop.median_ns, step_ns * 9 / 10, step_ns * 11 / 10);
	assert_in_range(loop.p99_ns, step_ns * 9 / 10, step_ns * 11 / 10);
	assert_in_range(loop.longest_ns, step_ns * 45, step_ns * 55);
	count = gs_step_read(steps, sizeof(steps) / sizeof(steps[0]));
	assert_in_range(count, GS_STEPS_KEPT + 1, GS_STEPS_KEPT + GS_STEP_LONGEST);
	assert_int_equal(steps[count - 1].number, 3 * GS_STEPS_KEPT);
	assert_int_equal(steps[count - 1].figures[GS_FIGURE_LAUNCHES], 7);
	for (count = 0; steps[count].number != 101; count++)
		assert_true(count < GS_STEP_LONGEST);
	assert_int_equal(gs_step_read(NULL, 0) > GS_STEPS_KEPT, 1);
	assert_false(gs_step_launch_bound(loop.wall_ns, &loop)); /* nothing is known of the device */
}

static void more_loops_than_there_is_room_for(void **state)
{
	struct gs_loop loop;

	(void)state;
	gs_step_found(GS_FOUND_LOOP, 5, 2, false, now); /* from another place */
	assert_int_equal(gs_loop_count(), 2);
	for (uint32_t name = 10; name < 10 + 4 * GS_STEP_LOOPS; name++) {
		gs_step_found(GS_FOUND_LOOP, name, 1, false, now);
		round_of(name, MS, 1, 0, 0);
	}
	assert_int_equal(gs_loop_count(), GS_STEP_LOOPS);
	gs_loop_read(0, &loop);
	assert_int_equal(loop.name, 5);
	assert_int_equal(loop.steps, 3 * GS_STEPS_KEPT);
	for (unsigned i = 0; i < 100; i++)
		round_of(9 + 4 * GS_STEP_LOOPS, MS, 1, 0, 0);
	gs_step_found(GS_FOUND_INNER, 5, 1, false, now);
	gs_loop_read(0, &loop);
	assert_int_equal(loop.kind, GS_LOOP_INNER);
}

static void held_up_by_launching(void **state)
{
	struct gs_loop loop;

	(void)state;
	gs_step_found(GS_FOUND_LOOP, 900, 1, false, now);
	for (unsigned i = 0; i < 1000; i++)
		round_of(900, 10 * MS, 500, 6 * MS, gs_ticks_to_ns(2 * MS));
	assert_true(gs_step_launch_bound(gs_ticks_to_ns(20000 * MS), &loop));
	assert_int_equal(loop.name, 900);
	assert_false(gs_step_launch_bound(gs_ticks_to_ns(40000 * MS), &loop)); /* no great part of the program */
	for (unsigned i = 0; i < 1000; i++)
		round_of(900, 10 * MS, 500, 6 * MS, gs_ticks_to_ns(30 * MS));
	assert_false(gs_step_launch_bound(gs_ticks_to_ns(20000 * MS), &loop)); /* the device has enough to do */
}

static bool is_known(uint32_t name)
{
	struct gs_loop loop;

	for (size_t index = 0; index < gs_loop_count(); index++) {
		gs_loop_read(index, &loop);
		if (loop.name == name)
			return true;
	}
	return false;
}

static void loops_that_came_to_something_stay(void **state)
{
	(void)state;
	for (uint32_t name = 2000; name < 2000 + 2 * GS_STEP_LOOPS; name++) {
		gs_step_found(GS_FOUND_LOOP, name, 1, false, now);
		for (unsigned i = 0; i < GS_FINDER_ROUNDS; i++)
			round_of(name, MS, 1, 0, 0);
	}
	assert_true(is_known(2000));
	assert_false(is_known(2000 + 2 * GS_STEP_LOOPS - 1));
	gs_step_found(GS_FOUND_INNER, 2000, 1, false, now); /* what is inside of another makes room */
	gs_step_found(GS_FOUND_LOOP, 5000, 1, false, now);
	assert_true(is_known(5000));
	assert_false(is_known(2000));
	gs_step_found(GS_FOUND_INNER, 2001, 1, false, now); /* for the next test */
}

static void *find(void *argument)
{
	gs_step_found(GS_FOUND_ROUND, 5000, 1, true, now + (1ull << 40));
	return argument;
}

/* What the program says counts from then on, even if a thread that finds a loop meanwhile comes to lead. */
static void marked_steps(void **state)
{
	struct gs_loop loop;
	pthread_t thread;
	uint64_t before;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, find, NULL), 0); /* leads now */
	pthread_join(thread, NULL);
	gs_loop_read(0, &loop);
	before = gs_loop_count();
	for (unsigned i = 0; i < 8; i++) {
		gs_figure_add(GS_FIGURE_WAITS, 2);
		gs_step_mark(NULL);
	}
	assert_true(gs_steps_marked);
	find(NULL);
	assert_in_range(gs_loop_count(), before, GS_STEP_LOOPS);
	for (size_t index = 0; index < gs_loop_count(); index++) {
		gs_loop_read(index, &loop);
		if (loop.kind == GS_LOOP_MARKED)
			break;
	}
	assert_int_equal(loop.kind, GS_LOOP_MARKED);
	assert_int_equal(loop.steps, 7);
	assert_int_equal(loop.figures[GS_FIGURE_WAITS], 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_and_steps),
		cmocka_unit_test(more_loops_than_there_is_room_for),
		cmocka_unit_test(held_up_by_launching),
		cmocka_unit_test(loops_that_came_to_something_stay),
		cmocka_unit_test(marked_steps),
	};

	gs_clock_init();
	gs_counter_init();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
