/* Idle memory moves to where memory is wanted, if there is time for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

#define PIECES 8
#define HOUR_NS 3600000000000ull

/* Live and free pieces by turns; the free ones are idle if asked for. */
static void pieces(struct bench *bench, uint64_t *live, uint64_t size_bytes, bool idle)
{
	uint64_t free[PIECES];

	bench->fake.clock_ns += HOUR_NS;
	for (unsigned i = 0; i < PIECES; i++) {
		free[i] = take(bench, size_bytes, 1);
		live[i] = take(bench, size_bytes, 1);
	}
	fake_submit(&bench->fake, 1);
	for (unsigned i = 0; i < PIECES; i++)
		give(bench, free[i], 2);
	fake_submit(&bench->fake, 2);
	if (idle) {
		fake_finish(&bench->fake, 1);
		fake_finish(&bench->fake, 2);
	}
}

static void pieces_serve_what_none_of_them_could(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, 8 * MIB, true);
	large = take(bench, PIECES * 8 * MIB, 1);
	assert_true(fake_usable(&bench->fake, large, PIECES * 8 * MIB));
	assert_int_equal(bench_stats(bench)->reserved_bytes.peak, 2 * PIECES * 8 * MIB);
	assert_true(bench->stats.moves > 0);
	assert_int_equal(bench->fake.told_bytes, bench->fake.used_bytes);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(fake_usable(&bench->fake, live[i], 8 * MIB));
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void part_of_it_is_new_where_they_are_not_enough(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, 8 * MIB, true);
	take(bench, (PIECES + 2) * 8 * MIB, 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, (2 * PIECES + 2) * 8 * MIB);
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void memory_that_is_not_known_to_be_idle_stays(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, 8 * MIB, false);
	take(bench, PIECES * 8 * MIB, 1);
	assert_int_equal(bench_stats(bench)->moves, 0);
	assert_true(bench->stats.reserved_bytes.now >= 3 * PIECES * 8 * MIB);
	bench_close(bench);
}

static void fixed_segments_stay(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t live[PIECES];

	(void)state;
	options.expandable = false;
	bench = bench_open(options, GIB);
	pieces(bench, live, 8 * MIB, true);
	take(bench, PIECES * 8 * MIB, 1);
	assert_int_equal(bench_stats(bench)->moves, 0);
	bench_close(bench);
}

/* A program that has not run long does not have its time spent on moves. */
static void moves_take_a_small_part_of_the_time(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, 8 * MIB, true);
	bench->fake.clock_ns -= HOUR_NS;
	take(bench, PIECES * 8 * MIB, 1);
	assert_int_equal(bench_stats(bench)->moves, 0);
	assert_int_equal(bench->stats.reserved_bytes.now, 3 * PIECES * 8 * MIB);
	bench->fake.clock_ns += 100 * 1000 * 1000;
	take(bench, PIECES * 8 * MIB, 1);
	assert_in_range(bench_stats(bench)->moves, 1, 2 * PIECES * 8);
	bench_close(bench);
}

static void what_the_driver_will_not_unmap_stays(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, 8 * MIB, true);
	fake_fail(&bench->fake, FAKE_UNMAP, 2, 1, GS_E_DRIVER);
	take(bench, PIECES * 8 * MIB, 1);
	assert_int_equal(bench->fake.fail_fired, 1);
	assert_int_equal(bench_stats(bench)->moves, 2);
	assert_int_equal(bench->stats.reserved_bytes.now, bench->fake.used_bytes);
	gsa_check(bench->allocator);
	bench_close(bench);
}

/* Mapping fails after memory was taken from elsewhere: that is given back, nothing else is lost. */
static void a_failure_gives_spares_back(void **state)
{
	static const enum fake_op ops[] = {FAKE_MAP, FAKE_SET_ACCESS};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bench *bench = bench_open(fake_options(), GIB);
		struct gsa_block_info block;
		uint64_t live[PIECES];

		pieces(bench, live, 8 * MIB, true);
		fake_fail(&bench->fake, ops[i], 0, 100, GS_E_NO_MEMORY);
		assert_int_equal(fake_alloc(bench->allocator, PIECES * 8 * MIB, 1, &block), GS_E_NO_MEMORY);
		fake_fail(&bench->fake, ops[i], 0, 0, GS_OK);
		assert_int_equal(bench_stats(bench)->reserved_bytes.now, bench->fake.used_bytes);
		assert_int_equal(bench->stats.rounded_bytes.now, PIECES * 8 * MIB);
		gsa_check(bench->allocator);
		take(bench, PIECES * 8 * MIB, 1);
		bench_close(bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_serve_what_none_of_them_could),
	    cmocka_unit_test(part_of_it_is_new_where_they_are_not_enough),
	    cmocka_unit_test(memory_that_is_not_known_to_be_idle_stays),
	    cmocka_unit_test(fixed_segments_stay),
	    cmocka_unit_test(moves_take_a_small_part_of_the_time),
	    cmocka_unit_test(what_the_driver_will_not_unmap_stays),
	    cmocka_unit_test(a_failure_gives_spares_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator moves", tests, NULL, NULL);
}
