/* Stitched segments that are changed in parts, for requests that are much like an earlier one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

#define PIECES 8
#define PIECE_BYTES (8 * MIB)
#define ALL_BYTES (PIECES * PIECE_BYTES)

/* Live and free pieces by turns: the free ones were freed on stream 1, and are idle if asked for. */
static void pieces(struct bench *bench, uint64_t *live, bool idle)
{
	uint64_t free[PIECES];

	for (unsigned i = 0; i < PIECES; i++) {
		free[i] = take(bench, PIECE_BYTES, 1);
		live[i] = take(bench, PIECE_BYTES, 1);
	}
	for (unsigned i = 0; i < PIECES; i++)
		give(bench, free[i], 1);
	fake_submit(&bench->fake, 1);
	if (idle)
		fake_finish(&bench->fake, 1);
}

/* A segment of all pieces, of which one is in use now; another piece is free. */
static uint64_t one_piece_changed(struct bench *bench, uint64_t *ret_small)
{
	uint64_t live[PIECES];
	uint64_t large;

	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	give(bench, large, 1);
	give(bench, live[3], 1);
	*ret_small = take(bench, PIECE_BYTES, 1);
	return large;
}

/* What a segment from before lacks is mapped in its place: the rest stays. */
static void steps_that_vary_map_little_anew(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t small, bytes, large = one_piece_changed(bench, &small);
	unsigned maps = bench->fake.calls[FAKE_MAP];

	(void)state;
	assert_int_equal(take(bench, ALL_BYTES, 1), large);
	assert_int_equal(bench_stats(bench)->stitches, 2);
	assert_in_range(bench->fake.calls[FAKE_MAP] - maps, 1, PIECE_BYTES / FAKE_UNIT_BYTES);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	for (uint64_t at = 0; at < ALL_BYTES; at += FAKE_UNIT_BYTES)
		assert_true(fake_physical(&bench->fake, large + at, &bytes) - fake_physical(&bench->fake, small, &bytes) >=
			    PIECE_BYTES);
	gsa_check(bench->allocator);
	bench_close(bench);
}

/* A somewhat larger request: the segment is made longer. */
static void a_segment_grows_at_its_end(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t small, large = one_piece_changed(bench, &small);
	unsigned maps = bench->fake.calls[FAKE_MAP];

	(void)state;
	give(bench, small, 1);
	assert_int_equal(take(bench, ALL_BYTES + 4 * MIB, 1), large);
	assert_int_equal(bench->fake.calls[FAKE_MAP] - maps, 4 * MIB / FAKE_UNIT_BYTES);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES + 4 * MIB));
	gsa_check(bench->allocator);
	bench_close(bench);
}

/* While work may use its addresses nothing is mapped anew there. */
static void addresses_in_use_do_not_change(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	fake_submit(&bench->fake, 1);
	give(bench, large, 1);
	give(bench, live[3], 1);
	take(bench, PIECE_BYTES, 1);
	assert_int_not_equal(take(bench, ALL_BYTES, 1), large);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	bench_close(bench);
}

/* Whatever the driver refuses of it, everything stays in the books and what is in use stays mapped. */
static void a_segment_that_cannot_be_changed_is_given_up(void **state)
{
	static const enum fake_op ops[] = {FAKE_UNMAP, FAKE_MAP, FAKE_SET_ACCESS};

	(void)state;
	for (size_t op = 0; op < sizeof(ops) / sizeof(ops[0]); op++)
		for (unsigned at = 0; at < 4; at++) {
			struct bench *bench = bench_open(fake_options(), GIB);
			struct gsa_block_info block;
			uint64_t small;

			one_piece_changed(bench, &small);
			fake_fail(&bench->fake, ops[op], at, 1, GS_E_NO_MEMORY);
			assert_int_equal(fake_alloc(bench->allocator, ALL_BYTES, 1, &block), GS_OK);
			assert_true(fake_usable(&bench->fake, block.address, ALL_BYTES));
			assert_true(fake_usable(&bench->fake, small, PIECE_BYTES));
			gsa_check(bench->allocator);
			bench_close(bench);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(steps_that_vary_map_little_anew),
	    cmocka_unit_test(a_segment_grows_at_its_end),
	    cmocka_unit_test(addresses_in_use_do_not_change),
	    cmocka_unit_test(a_segment_that_cannot_be_changed_is_given_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator stitching again", tests, NULL, NULL);
}
