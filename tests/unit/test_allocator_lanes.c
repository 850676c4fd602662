/* Lanes: small blocks of streams whose threads meet have allocators of their own, and nobody can tell but by the lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/lane.h"
#include "tests/lib/gsa_test.h"

static struct bench *open_with_lanes(enum gsa_lanes_use lanes, uint64_t capacity_bytes)
{
	struct gsa_options options = fake_options();

	options.lanes = lanes;
	return bench_open(options, capacity_bytes);
}

static bool in_lane(struct bench *bench, uint64_t address)
{
	return gsa_lane_at(bench->allocator, address) != bench->allocator;
}

static struct gsa_request request_of(const struct gsa_stream *stream)
{
	return (struct gsa_request){.size_bytes = KIB, .origin = GSA_ORIGIN_ASYNC, .stream = stream, .owner = 1};
}

static void who_meets_nobody_has_none(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_MET, GIB);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		give(bench, take(bench, 1 + i * 700, 1 + i % 4), 1 + i % 4);
	assert_int_equal(gsa_lane_count(bench->allocator), 0);
	assert_int_equal(bench->fake.reservation_count, 1);
	bench_close(bench);
}

static void who_finds_the_lock_held_often_has_one(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_MET, GIB);
	struct gsa_stream stream = fake_stream(1);
	struct gsa_request request = request_of(&stream);
	uint64_t before = take(bench, KIB, 1), after;
	struct gsa_note note;

	(void)state;
	for (unsigned i = 1; i < GSA_LANE_MEETINGS; i++)
		assert_false(gsa_lane_met(bench->allocator, &request));
	gsb_lock_acquire(&bench->allocator->lock);
	assert_int_equal(gsa_alloc_held(bench->allocator, &request, &note), GS_E_NOT_FOUND);
	gsb_lock_release(&bench->allocator->lock);
	after = take(bench, KIB, 1);
	assert_false(in_lane(bench, before));
	assert_true(in_lane(bench, after));
	assert_false(in_lane(bench, take(bench, KIB, 2)));
	give(bench, after, 1);
	assert_int_equal(gsa_alloc_held(bench->allocator, &request, &note), GS_OK);
	assert_int_equal(note.address, after);
	give(bench, before, 1);
	assert_int_equal(bench_stats(bench)->live_count.now, 2);
	bench_close(bench);
}

static void to_meet_now_and_then_is_not_often(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_MET, GIB);
	struct gsa_stream stream = fake_stream(1);
	struct gsa_request request = request_of(&stream);

	(void)state;
	for (unsigned i = 0; i < 4 * GSA_LANE_MEETINGS; i++) {
		assert_false(gsa_lane_met(bench->allocator, &request));
		bench->fake.clock_ns += GSA_LANE_NS / (GSA_LANE_MEETINGS / 2);
	}
	take(bench, KIB, 1);
	assert_int_equal(gsa_lane_count(bench->allocator), 0);
	bench_close(bench);
}

static void large_blocks_and_those_without_a_stream_stay(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t small = take(bench, MIB, 1);

	(void)state;
	assert_true(in_lane(bench, small));
	assert_false(in_lane(bench, take(bench, MIB + 1, 1)));
	assert_false(in_lane(bench, take(bench, KIB, 0)));
	assert_int_equal(bench_stats(bench)->allocated_bytes.now, MIB + MIB + 1 + KIB);
	assert_int_equal(bench->stats.live_count.now, 3);
	assert_int_equal(bench->stats.reserved_bytes.now, bench->fake.used_bytes);
	bench_close(bench);
}

static void a_limit_holds_for_all_of_it(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;

	(void)state;
	options.lanes = GSA_LANES_ALWAYS;
	options.limit_bytes = 64 * MIB;
	bench = bench_open(options, GIB);
	take(bench, KIB, 1);
	assert_int_equal(gsa_lane_count(bench->allocator), 0);
	bench_close(bench);
}

static void streams_share_them_in_the_end(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t addresses[FAKE_STREAMS];

	(void)state;
	for (uint64_t id = 1; id < FAKE_STREAMS; id++)
		assert_true(in_lane(bench, addresses[id] = take(bench, KIB, id)));
	assert_int_equal(gsa_lane_count(bench->allocator), GSA_LANES);
	assert_ptr_equal(gsa_lane_at(bench->allocator, addresses[1]),
			 gsa_lane_at(bench->allocator, addresses[1 + GSA_LANES]));
	bench_close(bench);
}

static void where_none_can_be_made_nothing_is_amiss(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);

	(void)state;
	take(bench, KIB, 0);
	fake_fail(&bench->fake, FAKE_RESERVE, 0, 1, GS_E_NO_MEMORY);
	assert_false(in_lane(bench, take(bench, KIB, 1)));
	assert_false(in_lane(bench, take(bench, KIB, 2)));
	assert_int_equal(bench->fake.fail_fired, 1);
	bench_close(bench);
}

/* Plain memory has no place in a lane. */
static void where_virtual_memory_is_refused_later_the_device_serves(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t address;

	(void)state;
	take(bench, KIB, 1);
	fake_fail(&bench->fake, FAKE_CREATE, 0, 2, GS_E_UNSUPPORTED);
	address = take(bench, KIB, 2);
	assert_int_equal(bench->fake.plain_count, 1);
	assert_false(in_lane(bench, address));
	give(bench, address, 2);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	bench_close(bench);
}

static void addresses_are_known_as_ever(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t address = take(bench, 3 * KIB, 1), offset_bytes = 0;
	struct gsa_handle_span span;
	struct gsa_block_info block;

	(void)state;
	assert_int_equal(gsa_find(bench->allocator, address + 2 * KIB, &block), GS_OK);
	assert_int_equal(block.address, address);
	assert_int_equal(block.stream_id, 1);
	assert_true(gsa_holds(bench->allocator, address));
	assert_true(gsa_reserves(bench->allocator, address));
	assert_int_equal(gsa_block_handles(bench->allocator, address + 512, &span, 1, &offset_bytes), 1);
	assert_int_equal(gsa_hold(bench->allocator, address), GS_OK);
	assert_int_equal(gsa_free(bench->allocator, address + 512, NULL, NULL), GS_E_NOT_FOUND);
	give(bench, address, 1);
	assert_int_equal(gsa_free(bench->allocator, address, NULL, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_find(bench->allocator, address, &block), GS_E_NOT_FOUND);
	assert_true(gsa_holds(bench->allocator, address));
	bench_close(bench);
}

static void what_is_shared_is_never_used_again(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t address = take(bench, KIB, 1);

	(void)state;
	assert_int_equal(gsa_share(bench->allocator, address), GS_OK);
	give(bench, address, 1);
	assert_int_not_equal(take(bench, KIB, 1), address);
	bench_close(bench);
}

static void freed_on_another_stream_waits_for_that(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t first = take(bench, KIB, 1), before;

	(void)state;
	fake_submit(&bench->fake, 2);
	give(bench, first, 2);
	assert_int_not_equal(take(bench, KIB, 1), first);
	before = gsa_free_serial(bench->allocator);
	fake_finish(&bench->fake, 2);
	gsa_stream_idle(bench->allocator, 2, before);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	assert_int_equal(take(bench, KIB, 1), first);
	bench_close(bench);
}

/* One thread begins to wait, memory is freed, and a second one begins to wait: what each is told by is its own. */
static void news_is_of_the_wait_that_brings_it(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t address = take(bench, KIB, 1), early, late;

	(void)state;
	early = gsa_free_serial(bench->allocator);
	fake_submit(&bench->fake, 1);
	give(bench, address, 1);
	late = gsa_free_serial(bench->allocator);
	assert_int_not_equal(early, late);
	gsa_device_idle(bench->allocator, early);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, KIB);
	fake_finish(&bench->fake, 1);
	gsa_device_idle(bench->allocator, late);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	for (unsigned i = 0; i < GSA_LANE_MARKS; i++)
		gsa_free_serial(bench->allocator);
	give(bench, take(bench, KIB, 1), 1);
	gsa_device_idle(bench->allocator, late);
	assert_int_not_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

static void a_stream_that_ends_leaves_its_lane_clean(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t address = take(bench, KIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, address, 1);
	gsa_stream_ending(bench->allocator, &stream);
	bench->fake.gone[1] = true;
	fake_finish(&bench->fake, 1);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	assert_int_equal(bench->fake.used_bytes, 0);
	bench_close(bench);
}

static void memory_in_lanes_serves_before_there_is_none(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, 64 * MIB);
	uint64_t addresses[60];

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		addresses[i] = take(bench, MIB, 1 + i % 3);
	for (unsigned i = 0; i < 60; i++)
		give(bench, addresses[i], 1 + i % 3);
	take(bench, 60 * MIB, 0);
	assert_int_equal(bench_stats(bench)->out_of_memory, 0);
	bench_close(bench);
}

static void what_the_device_has_free_serves_a_lane_that_cannot_grow(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, 64 * MIB);
	struct gsa_block_info block;
	uint64_t small;

	(void)state;
	small = take(bench, KIB, 0);
	take(bench, MIB / 2, 0);
	take(bench, 62 * MIB, 0);
	give(bench, small, 0);
	assert_int_equal(fake_alloc(bench->allocator, KIB, 1, &block), GS_OK);
	assert_false(in_lane(bench, block.address));
	assert_int_equal(fake_alloc(bench->allocator, 4 * MIB, 1, &block), GS_E_NO_MEMORY);
	assert_int_equal(bench_stats(bench)->out_of_memory, 1);
	bench_close(bench);
}

/* As many streams as the device has room for two: what is left between blocks of theirs is for all. */
static void the_last_room_in_lanes_is_for_all(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, 8 * MIB);
	struct gsa_block_info block;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		take(bench, MIB, i + 1);
	assert_int_equal(fake_alloc(bench->allocator, KIB, 1, &block), GS_E_NO_MEMORY);
	assert_int_equal(bench_stats(bench)->out_of_memory, 1);
	assert_int_equal(bench->stats.reserved_bytes.now, 8 * MIB);
	bench_close(bench);
}

static void what_nobody_wants_for_long_goes_back(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t given_bytes = 0;

	(void)state;
	give(bench, take(bench, MIB, 1), 1);
	for (unsigned i = 0; i < 10; i++) {
		bench->fake.clock_ns += 1000000000ull;
		given_bytes += gsa_purge(bench->allocator, 3000000000ull, false);
	}
	assert_int_equal(given_bytes, FAKE_UNIT_BYTES);
	assert_int_equal(bench->fake.used_bytes, 0);
	bench_close(bench);
}

static void count_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	*(uint64_t *)user += state == GSA_BLOCK_LIVE ? info->size_bytes : 0;
}

static void a_walk_comes_to_all(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t live_bytes = 0;
	struct gsa_visitor visitor = {.block = count_block, .user = &live_bytes};

	(void)state;
	for (uint64_t id = 0; id < 8; id++)
		take(bench, KIB << id, id);
	gsa_walk(bench->allocator, &visitor);
	assert_int_equal(live_bytes, (KIB << 8) - KIB);
	gsa_stats_reset_peak(bench->allocator);
	assert_int_equal(bench_stats(bench)->allocated_bytes.peak, live_bytes);
	bench_close(bench);
}

static void a_context_that_ends_leaves_pools_their_memory(void **state)
{
	struct bench *bench = open_with_lanes(GSA_LANES_ALWAYS, GIB);
	uint64_t kept = take(bench, KIB, 1);

	(void)state;
	take(bench, KIB, 0);
	give(bench, take(bench, KIB, 2), 2);
	assert_int_equal(gsa_owner_gone(bench->allocator, 1), 1);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	give(bench, kept, 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_meets_nobody_has_none),
	    cmocka_unit_test(who_finds_the_lock_held_often_has_one),
	    cmocka_unit_test(to_meet_now_and_then_is_not_often),
	    cmocka_unit_test(large_blocks_and_those_without_a_stream_stay),
	    cmocka_unit_test(a_limit_holds_for_all_of_it),
	    cmocka_unit_test(streams_share_them_in_the_end),
	    cmocka_unit_test(where_none_can_be_made_nothing_is_amiss),
	    cmocka_unit_test(where_virtual_memory_is_refused_later_the_device_serves),
	    cmocka_unit_test(addresses_are_known_as_ever),
	    cmocka_unit_test(what_is_shared_is_never_used_again),
	    cmocka_unit_test(freed_on_another_stream_waits_for_that),
	    cmocka_unit_test(news_is_of_the_wait_that_brings_it),
	    cmocka_unit_test(a_stream_that_ends_leaves_its_lane_clean),
	    cmocka_unit_test(memory_in_lanes_serves_before_there_is_none),
	    cmocka_unit_test(what_the_device_has_free_serves_a_lane_that_cannot_grow),
	    cmocka_unit_test(the_last_room_in_lanes_is_for_all),
	    cmocka_unit_test(what_nobody_wants_for_long_goes_back),
	    cmocka_unit_test(a_walk_comes_to_all),
	    cmocka_unit_test(a_context_that_ends_leaves_pools_their_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator lanes", tests, NULL, NULL);
}
