/* Free memory in pieces serves what none of them could, at addresses where the pieces follow each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

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

/* What was freed may still be used by work on its stream, at the addresses of the stitched block: they stay. */
static void work_at_its_addresses_is_waited_for(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 2);
	assert_int_equal(bench_stats(bench)->stitches, 1);
	give(bench, live[0], 1);
	fake_submit(&bench->fake, 2);
	give(bench, large, 2);
	gsa_trim(bench->allocator, 0);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	take(bench, PIECE_BYTES, 2);
	give(bench, live[1], 1);
	gsa_trim(bench->allocator, 0);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	fake_finish(&bench->fake, 2);
	gsa_trim(bench->allocator, 0);
	assert_false(fake_usable(&bench->fake, large, PIECE_BYTES));
	assert_int_equal(bench_stats(bench)->idle_bytes.now, 0);
	bench_close(bench);
}

static void pieces_serve_what_none_of_them_could(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 2);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	assert_int_equal(bench_stats(bench)->reserved_bytes.peak, 2 * ALL_BYTES);
	assert_int_equal(bench->stats.stitches, 1);
	assert_int_equal(bench->stats.idle_bytes.now, 0);
	assert_int_equal(bench->fake.told_bytes, bench->fake.used_bytes);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(fake_usable(&bench->fake, live[i], PIECE_BYTES));
	bench_close(bench);
}

/* The pieces keep their addresses: when the large block is freed they serve small ones again, and then another large
 * one is served where the first was, without the driver. */
static void the_same_again_needs_no_driver(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t small[PIECES];
	uint64_t large;
	unsigned calls;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	calls = bench->fake.call_count;
	for (unsigned round = 0; round < 3; round++) {
		give(bench, large, 1);
		gsa_check(bench->allocator);
		for (unsigned i = 0; i < PIECES; i++)
			small[i] = take(bench, PIECE_BYTES, 1);
		gsa_check(bench->allocator);
		for (unsigned i = 0; i < PIECES; i++)
			give(bench, small[i], 1);
		assert_int_equal(take(bench, ALL_BYTES - round * MIB, 1), large);
		gsa_check(bench->allocator);
	}
	assert_int_equal(bench->fake.call_count, calls);
	assert_int_equal(bench_stats(bench)->stitches, 1);
	bench_close(bench);
}

/* A segment serves only what its memory is free for: one piece is live again, or not known to be idle. */
static void a_piece_in_use_is_not_lent_again(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large, small, again, bytes;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	give(bench, large, 1);
	small = take(bench, PIECE_BYTES, 1);
	again = take(bench, ALL_BYTES, 1);
	for (uint64_t at = 0; at < ALL_BYTES; at += FAKE_UNIT_BYTES)
		assert_true(fake_physical(&bench->fake, again + at, &bytes) - fake_physical(&bench->fake, small, &bytes) >=
			    PIECE_BYTES);
	assert_true(fake_usable(&bench->fake, small, PIECE_BYTES));
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void order_of_streams_holds(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;
	uint64_t other;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	fake_submit(&bench->fake, 1);
	give(bench, large, 1);
	other = take(bench, ALL_BYTES, 2);
	assert_true(other != large);
	assert_true(bench_stats(bench)->reserved_bytes.now >= 3 * ALL_BYTES);
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, ALL_BYTES, 3), large);
	bench_close(bench);
}

static void *all_done(void *user)
{
	struct bench *bench = user;

	fake_finish(&bench->fake, 1);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	return NULL;
}

static void all_done_meanwhile(void *user)
{
	struct bench *bench = user;
	pthread_t thread;

	bench->fake.before_map = NULL;
	assert_int_equal(pthread_create(&thread, NULL, all_done, bench), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Another thread finds out that all is done while what was pending is mapped: nothing is left of the stream. */
static void what_was_pending_is_idle_before_it_is_mapped(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, false);
	bench->fake.before_map = all_done_meanwhile;
	bench->fake.before_map_user = bench;
	take(bench, ALL_BYTES, 1);
	assert_int_equal(bench_stats(bench)->stitches, 1);
	assert_null(bench->fake.before_map);
	gsa_check(bench->allocator);
	bench_close(bench);
}

/* What is pending on the request's own stream serves it at once, as anywhere. */
static void own_pending_memory_is_enough(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, false);
	take(bench, ALL_BYTES, 1);
	assert_int_equal(bench_stats(bench)->stitches, 1);
	assert_int_equal(bench->stats.reserved_bytes.now, 2 * ALL_BYTES);
	bench_close(bench);
}

static void memory_that_is_not_known_to_be_idle_stays(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, false);
	take(bench, ALL_BYTES, 2);
	assert_int_equal(bench_stats(bench)->stitches, 0);
	assert_int_equal(bench->stats.reserved_bytes.now, 3 * ALL_BYTES);
	bench_close(bench);
}

static void part_of_it_is_new_where_they_are_not_enough(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];

	(void)state;
	pieces(bench, live, true);
	take(bench, ALL_BYTES + 16 * MIB, 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * ALL_BYTES + 16 * MIB);
	assert_int_equal(bench->stats.stitches, 1);
	bench_close(bench);
}

/* The large pool is stitched for large requests only. */
static void a_small_request_takes_new_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large, small;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	give(bench, large, 1);
	small = take(bench, 100 * KIB, 1);
	assert_true(small < large || small >= large + ALL_BYTES);
	bench_close(bench);

	bench = bench_open(fake_options(), GIB);
	pieces(bench, live, false);
	take(bench, ALL_BYTES, 2);
	fake_finish(&bench->fake, 1);
	take(bench, 100 * KIB, 1);
	assert_int_equal(bench_stats(bench)->stitches, 0);
	bench_close(bench);
}

static void fixed_segments_are_not_stitched(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t live[PIECES];

	(void)state;
	options.expandable = false;
	bench = bench_open(options, GIB);
	pieces(bench, live, true);
	take(bench, ALL_BYTES, 1);
	assert_int_equal(bench_stats(bench)->stitches, 0);
	bench_close(bench);
}

/* New sizes each time would be stitched for ever; that comes to an end, and memory is made instead. Once a quarter is
 * idle it goes on, for a small part of the time. */
static void stitching_is_paid_for(void **state)
{
	struct bench *bench = bench_open(fake_options(), 8 * GIB);
	uint64_t live[PIECES];
	uint64_t hole;
	uint64_t stitches;

	(void)state;
	pieces(bench, live, true);
	for (unsigned round = 0; round < 64; round++) {
		hole = take(bench, (round % 3 + 1) * 2 * MIB, 1);
		give(bench, take(bench, ALL_BYTES - 16 * MIB, 1), 1);
		give(bench, hole, 1);
		gsa_check(bench->allocator);
	}
	stitches = bench_stats(bench)->stitches;
	assert_in_range(stitches, 1, 16);
	assert_true(bench->stats.reserved_bytes.now <= 3 * ALL_BYTES);
	bench_close(bench);
}

/* What was given back is no longer mapped anywhere, and what is live in stitched memory stays. */
static void trim_gives_back_what_was_stitched(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	gsa_trim(bench->allocator, 0);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * ALL_BYTES);
	give(bench, large, 1);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, ALL_BYTES);
	assert_int_equal(bench->fake.used_bytes, ALL_BYTES);
	assert_int_equal(bench->fake.reservation_count, 1);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(fake_usable(&bench->fake, live[i], PIECE_BYTES));
	bench_close(bench);
}

/* The driver does not wait for work when it unmaps. */
static void trim_leaves_addresses_that_work_may_still_use(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;
	uint64_t other;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	other = take(bench, ALL_BYTES, 2);
	fake_submit(&bench->fake, 1);
	give(bench, large, 1);
	give(bench, other, 2);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * ALL_BYTES);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	fake_finish(&bench->fake, 1);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, ALL_BYTES);
	assert_int_equal(bench->fake.reservation_count, 1);
	bench_close(bench);
}

/* The block is smaller than its segment, whose last handle holds something else at home: that handle stays too. */
static void trim_leaves_handles_that_are_mapped_for_a_live_block(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;
	uint64_t small;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	give(bench, large, 1);
	assert_int_equal(take(bench, ALL_BYTES / 2 + MIB, 1), large);
	gsa_trim(bench->allocator, 0);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	gsa_check(bench->allocator);
	small = take(bench, PIECE_BYTES, 1);
	assert_true(small + PIECE_BYTES <= large || large + ALL_BYTES <= small);
	bench_close(bench);
}

struct freed_meanwhile {
	struct bench *bench;
	uint64_t address; /* 0: freed */
};

static void free_meanwhile(void *user)
{
	struct freed_meanwhile *freed = user;
	uint64_t address = freed->address;

	freed->address = 0;
	if (address == 0)
		return;
	give(freed->bench, address, 1);
	gsa_device_idle(freed->bench->allocator, gsa_free_serial(freed->bench->allocator));
}

/* Another thread frees the block of one segment while another segment is being dropped: no handle goes back as long as
 * a segment has it mapped. */
static void what_is_freed_while_others_are_dropped_goes_back_whole(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct freed_meanwhile freed = {.bench = bench};
	uint64_t live[PIECES];
	uint64_t dropped;

	(void)state;
	pieces(bench, live, true);
	freed.address = take(bench, ALL_BYTES / 2, 1);
	dropped = take(bench, ALL_BYTES / 2, 1);
	assert_int_equal(bench_stats(bench)->stitches, 2);
	give(bench, dropped, 1);
	bench->fake.before_unmap = free_meanwhile;
	bench->fake.before_unmap_user = &freed;
	gsa_trim(bench->allocator, 0);
	assert_int_equal(freed.address, 0);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, ALL_BYTES);
	assert_int_equal(bench->fake.used_bytes, ALL_BYTES);
	assert_int_equal(bench->fake.reservation_count, 1);
	bench_close(bench);
}

/* Interior pointers, handles for export, and the death of the owner. */
static void a_stitched_block_is_a_block(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_handle_span spans[64];
	struct gsa_block_info block;
	uint64_t live[PIECES];
	uint64_t offset_bytes;
	uint64_t bytes = 0;
	size_t count;

	(void)state;
	pieces(bench, live, true);
	assert_int_equal(fake_alloc(bench->allocator, ALL_BYTES, 0, &block), GS_OK);
	assert_int_equal(bench_stats(bench)->stitches, 1);
	count = gsa_block_handles(bench->allocator, block.address, spans, 64, &offset_bytes);
	assert_in_range(count, PIECES, 64);
	assert_int_equal(offset_bytes, 0);
	for (size_t i = 0; i < count; i++)
		bytes += spans[i].size_bytes;
	assert_int_equal(bytes, ALL_BYTES);
	bytes = spans[0].size_bytes;
	assert_int_equal(gsa_block_handles(bench->allocator, block.address + bytes + KIB, spans, 64, &offset_bytes),
			 count - 1);
	assert_int_equal(offset_bytes, KIB);
	assert_int_equal(gsa_find(bench->allocator, block.address + ALL_BYTES - 1, &block), GS_OK);
	assert_int_equal(gsa_find(bench->allocator, block.address + ALL_BYTES, &block), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, block.address + 256, NULL, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_owner_gone(bench->allocator, 1), 1);
	assert_int_equal(bench_stats(bench)->idle_bytes.now, ALL_BYTES);
	assert_true(gsa_holds(bench->allocator, block.address));
	assert_true(gsa_reserves(bench->allocator, block.address + ALL_BYTES - 1));
	assert_false(gsa_reserves(bench->allocator, block.address + ALL_BYTES + ALL_BYTES / 8));
	assert_int_equal(gsa_find(bench->allocator, block.address, &block), GS_E_NOT_FOUND);
	bench_close(bench);
}

/* Another process maps it: its memory is never used again, and goes back. */
static void a_shared_stitched_block_goes_back(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	assert_int_equal(gsa_share(bench->allocator, large), GS_OK);
	give(bench, large, 1);
	gsa_check(bench->allocator);
	take(bench, PIECE_BYTES, 1);
	gsa_share_sweep(bench->allocator);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, ALL_BYTES + PIECE_BYTES);
	assert_int_equal(bench->fake.used_bytes, ALL_BYTES + PIECE_BYTES);
	bench_close(bench);
}

/* What was freed beside it on the same stream is pending: that says nothing of the block. */
static void a_shared_stitched_block_goes_back_beside_pending_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	assert_int_equal(gsa_share(bench->allocator, large), GS_OK);
	fake_submit(&bench->fake, 1);
	give(bench, large, 1);
	for (unsigned i = 0; i < PIECES; i += 2)
		give(bench, live[i], 1);
	fake_finish(&bench->fake, 1);
	gsa_share_sweep(bench->allocator);
	gsa_check(bench->allocator);
	assert_int_equal(bench->fake.used_bytes, ALL_BYTES);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(fake_usable(&bench->fake, live[i], PIECE_BYTES));
	bench_close(bench);
}

/* A stitched block that is looked up by its address keeps that address, and all behind it. */
static void a_held_stitched_block_keeps_its_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	uint64_t large;

	(void)state;
	pieces(bench, live, true);
	large = take(bench, ALL_BYTES, 1);
	assert_int_equal(gsa_hold(bench->allocator, large), GS_OK);
	give(bench, large, 1);
	gsa_trim(bench->allocator, 0);
	assert_true(fake_usable(&bench->fake, large, ALL_BYTES));
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void add_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	(void)state;
	*(uint64_t *)user += info->reserved_bytes;
}

static void a_walk_goes_on_behind_a_hole(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t bytes = 0;
	const struct gsa_visitor visitor = {.block = add_block, .user = &bytes};
	uint64_t middle;

	(void)state;
	take(bench, 8 * MIB, 1);
	middle = take(bench, 8 * MIB, 1);
	take(bench, 8 * MIB, 1);
	give(bench, middle, 1);
	assert_int_equal(gsa_trim(bench->allocator, 0), 8 * MIB);
	gsa_walk(bench->allocator, &visitor);
	assert_int_equal(bytes, 16 * MIB);
	bench_close(bench);
}

static void access_reaches_stitched_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t live[PIECES];
	unsigned calls;

	(void)state;
	pieces(bench, live, true);
	take(bench, ALL_BYTES, 1);
	calls = bench->fake.calls[FAKE_SET_ACCESS];
	assert_int_equal(gsa_access_changed(bench->allocator), GS_OK);
	assert_int_equal(bench->fake.calls[FAKE_SET_ACCESS], calls + 2);
	bench_close(bench);
}

/* Whatever fails, the request is served from new memory if there is some, and nothing is lost. */
static void a_failure_costs_only_memory(void **state)
{
	static const enum fake_op ops[] = {FAKE_RESERVE, FAKE_MAP, FAKE_SET_ACCESS};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned at = 0; at < (ops[i] == FAKE_MAP ? PIECES : 1); at++) {
			struct bench *bench = bench_open(fake_options(), GIB);
			struct gsa_block_info block;
			uint64_t live[PIECES];

			pieces(bench, live, at % 2 == 0);
			fake_fail(&bench->fake, ops[i], at, 1, GS_E_NO_MEMORY);
			assert_int_equal(fake_alloc(bench->allocator, ALL_BYTES, 1, &block), GS_OK);
			assert_int_equal(bench->fake.fail_fired, 1);
			assert_true(fake_usable(&bench->fake, block.address, ALL_BYTES));
			assert_int_equal(bench_stats(bench)->reserved_bytes.now, bench->fake.used_bytes);
			assert_int_equal(bench->stats.stitches, 0);
			for (unsigned j = 0; j < PIECES; j++)
				assert_true(fake_usable(&bench->fake, live[j], PIECE_BYTES));
			gsa_check(bench->allocator);
			take(bench, 2 * PIECE_BYTES, 1);
			bench_close(bench);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_serve_what_none_of_them_could),
	    cmocka_unit_test(the_same_again_needs_no_driver),
	    cmocka_unit_test(a_piece_in_use_is_not_lent_again),
	    cmocka_unit_test(order_of_streams_holds),
	    cmocka_unit_test(own_pending_memory_is_enough),
	    cmocka_unit_test(what_was_pending_is_idle_before_it_is_mapped),
	    cmocka_unit_test(memory_that_is_not_known_to_be_idle_stays),
	    cmocka_unit_test(part_of_it_is_new_where_they_are_not_enough),
	    cmocka_unit_test(a_small_request_takes_new_memory),
	    cmocka_unit_test(fixed_segments_are_not_stitched),
	    cmocka_unit_test(stitching_is_paid_for),
	    cmocka_unit_test(trim_gives_back_what_was_stitched),
	    cmocka_unit_test(work_at_its_addresses_is_waited_for),
	    cmocka_unit_test(trim_leaves_addresses_that_work_may_still_use),
	    cmocka_unit_test(trim_leaves_handles_that_are_mapped_for_a_live_block),
	    cmocka_unit_test(what_is_freed_while_others_are_dropped_goes_back_whole),
	    cmocka_unit_test(a_stitched_block_is_a_block),
	    cmocka_unit_test(a_shared_stitched_block_goes_back),
	    cmocka_unit_test(a_shared_stitched_block_goes_back_beside_pending_memory),
	    cmocka_unit_test(a_held_stitched_block_keeps_its_memory),
	    cmocka_unit_test(a_walk_goes_on_behind_a_hole),
	    cmocka_unit_test(access_reaches_stitched_memory),
	    cmocka_unit_test(a_failure_costs_only_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator stitch", tests, NULL, NULL);
}
