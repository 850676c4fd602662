/* Physical memory: growing, trimming, running out, falling back, and what is said about a pointer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

static struct gsa_options fixed_options(void)
{
	struct gsa_options options = fake_options();

	options.expandable = false;
	return options;
}

static struct gsa_options plain_options(void)
{
	struct gsa_options options = fake_options();

	options.use_vmm = false;
	return options;
}

static void an_expandable_segment_grows_by_what_is_missing(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	uint64_t tail = take(bench, 8 * MIB, 1);

	(void)state;
	assert_int_equal(tail, first + 8 * MIB);
	give(bench, tail, 1);
	assert_int_equal(take(bench, 20 * MIB, 1), tail);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 28 * MIB);
	assert_int_equal(bench->fake.calls[FAKE_RESERVE], 1);
	bench_close(bench);
}

static void sizes_are_rounded_to_512(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_block_info block;
	uint64_t first = take(bench, 1, 1);

	(void)state;
	assert_int_equal(take(bench, 513, 1), first + 512);
	assert_int_equal(gsa_find(bench->allocator, first + 512 + 1023, &block), GS_OK);
	assert_int_equal(block.address, first + 512);
	assert_int_equal(block.size_bytes, 513);
	assert_int_equal(block.reserved_bytes, 1024);
	assert_int_equal(gsa_find(bench->allocator, first + 512 + 1024, &block), GS_E_NOT_FOUND);
	assert_int_equal(fake_alloc(bench->allocator, 0, 1, &block), GS_E_INVALID);
	assert_int_equal(fake_alloc(bench->allocator, UINT64_MAX, 1, &block), GS_E_NO_MEMORY);
	assert_int_equal(bench_stats(bench)->out_of_memory, 1);
	bench_close(bench);
}

static void small_and_large_blocks_keep_apart(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t large = take(bench, 4 * MIB, 1);
	uint64_t small = take(bench, 512, 1);

	(void)state;
	give(bench, large, 1);
	assert_int_not_equal(take(bench, 1024, 1), large);
	assert_int_equal(take(bench, 4 * MIB, 1), large);
	assert_true(small > large + 64 * GIB);
	bench_close(bench);
}

static void a_small_request_takes_crumbs_before_it_fails(void **state)
{
	struct bench *bench = bench_open(fake_options(), 4 * MIB);
	struct gsa_block_info block;
	uint64_t large = take(bench, 4 * MIB - 512, 1);

	(void)state;
	assert_int_equal(take(bench, 512, 1), large + 4 * MIB - 512);
	assert_int_equal(fake_alloc(bench->allocator, 512, 1, &block), GS_E_NO_MEMORY);
	bench_close(bench);
}

static void a_bad_pointer_is_not_found(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 4 * MIB, 1);
	struct gsa_block_info freed;

	(void)state;
	assert_int_equal(gsa_free(bench->allocator, first + 512, &stream, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, first + 1, &stream, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, 0, &stream, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, 0x7fff00001000, NULL, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, UINT64_MAX, NULL, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, first, &stream, &freed), GS_OK);
	assert_int_equal(freed.size_bytes, 4 * MIB);
	assert_int_equal(gsa_free(bench->allocator, first, &stream, NULL), GS_E_NOT_FOUND);
	bench_close(bench);
}

static void trim_leaves_live_memory_and_holes_are_filled_first(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t a = take(bench, 8 * MIB, 1);
	uint64_t b = take(bench, 8 * MIB, 1);
	uint64_t c = take(bench, 8 * MIB, 1);

	(void)state;
	give(bench, b, 1);
	assert_int_equal(gsa_trim(bench->allocator, 8 * MIB), 0);
	assert_int_equal(gsa_trim(bench->allocator, 0), 8 * MIB);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 16 * MIB);
	assert_true(fake_usable(&bench->fake, a, 8 * MIB) && fake_usable(&bench->fake, c, 8 * MIB));
	assert_int_equal(take(bench, 6 * MIB, 1), b);
	assert_int_equal(take(bench, 2 * MIB, 1), b + 6 * MIB);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 24 * MIB);
	assert_int_equal(bench->fake.told_bytes, 24 * MIB);
	bench_close(bench);
}

static void h11_a_handle_under_a_live_block_stays(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t big = take(bench, 64 * MIB, 1);
	uint64_t stay;

	(void)state;
	give(bench, big, 1);
	stay = take(bench, 3 * MIB, 1); /* in the front of a handle of 8 MiB */
	assert_int_equal(stay, big);
	assert_int_equal(gsa_trim(bench->allocator, 0), 56 * MIB);
	assert_true(fake_usable(&bench->fake, stay, 3 * MIB));
	give(bench, stay, 1);
	assert_int_equal(gsa_trim(bench->allocator, 0), 8 * MIB);
	bench_close(bench);
}

static void trim_does_not_take_pending_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	assert_int_equal(gsa_trim(bench->allocator, 0), 0);
	fake_finish(&bench->fake, 1);
	assert_int_equal(gsa_trim(bench->allocator, 0), 8 * MIB);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	bench_close(bench);
}

static void a_refused_unmap_keeps_the_memory(void **state)
{
	struct bench *bench = bench_open(fixed_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	give(bench, first, 1);
	fake_fail(&bench->fake, FAKE_UNMAP, 0, 1, GS_E_DRIVER);
	assert_int_equal(gsa_trim(bench->allocator, 0), 0);
	assert_int_equal(bench_stats(bench)->idle_bytes.now, 8 * MIB);
	assert_int_equal(take(bench, 8 * MIB, 1), first);
	bench_close(bench);
}

static void fixed_segments_do_not_merge_and_reuse_addresses(void **state)
{
	struct bench *bench = bench_open(fixed_options(), GIB);
	uint64_t a = take(bench, 4 * MIB, 1);
	uint64_t b = take(bench, 4 * MIB, 1);
	struct gsa_block_info block;

	(void)state;
	assert_int_equal(gsa_find(bench->allocator, b, &block), GS_OK);
	assert_int_equal(block.segment_address, b);
	assert_int_equal(block.segment_bytes, 4 * MIB);
	give(bench, a, 1);
	give(bench, b, 1);
	assert_int_equal(take(bench, 8 * MIB, 1), b + 4 * MIB);
	assert_int_equal(gsa_trim(bench->allocator, 0), 8 * MIB);
	assert_int_equal(take(bench, 8 * MIB, 1), a);
	bench_close(bench);
}

static void the_ladder_gives_idle_memory_back_and_tries_again(void **state)
{
	struct bench *bench = bench_open(fixed_options(), 64 * MIB);
	uint64_t blocks[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = take(bench, 8 * MIB, 1);
	for (unsigned i = 0; i < 8; i += 2)
		give(bench, blocks[i], 1);
	take(bench, 32 * MIB, 2);
	assert_int_equal(bench_stats(bench)->rounded_bytes.now, 64 * MIB);
	bench_close(bench);
}

static void the_ladder_waits_only_when_memory_is_pending(void **state)
{
	struct bench *bench = bench_open(fake_options(), 64 * MIB);
	struct gsa_block_info block;
	uint64_t first = take(bench, 40 * MIB, 1);

	(void)state;
	take(bench, 24 * MIB, 1);
	assert_int_equal(fake_alloc(bench->allocator, 40 * MIB, 2, &block), GS_E_NO_MEMORY);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_WAIT], 0);
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	assert_int_equal(fake_alloc(bench->allocator, 42 * MIB, 2, &block), GS_E_NO_MEMORY);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_WAIT], 0); /* there would be too little even so */
	assert_int_equal(take(bench, 40 * MIB, 2), first);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_WAIT], 1);
	assert_int_equal(bench_stats(bench)->out_of_memory, 2);
	bench_close(bench);
}

static void less_will_do_when_a_whole_step_is_not_there(void **state)
{
	struct bench *bench = bench_open(fake_options(), 2050 * MIB);

	(void)state;
	take(bench, 2048 * MIB, 1);
	take(bench, 2 * MIB, 1); /* a step would be 8 MiB */
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2050 * MIB);
	bench_close(bench);
}

static void the_limit_holds(void **state)
{
	struct gsa_options options = fake_options();
	struct gsa_block_info block;
	struct bench *bench;
	uint64_t first;

	(void)state;
	options.limit_bytes = 32 * MIB;
	bench = bench_open(options, GIB);
	first = take(bench, 20 * MIB, 1);
	assert_int_equal(fake_alloc(bench->allocator, 20 * MIB, 1, &block), GS_E_NO_MEMORY);
	give(bench, first, 1);
	take(bench, 30 * MIB, 2);
	assert_int_equal(bench_stats(bench)->reserved_bytes.peak, 30 * MIB);
	bench_close(bench);
	options.use_vmm = false;
	bench = bench_open(options, GIB);
	first = take(bench, 20 * MIB, 1);
	assert_int_equal(fake_alloc(bench->allocator, 20 * MIB, 1, &block), GS_E_NO_MEMORY);
	give(bench, first, 1);
	take(bench, 30 * MIB, 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.peak, 30 * MIB);
	bench_close(bench);
}

static void plain_requests_go_to_the_driver_and_back(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_request request = {.size_bytes = 1000, .origin = GSA_ORIGIN_LEGACY, .owner = 1, .plain = true};
	struct gsa_handle_span span;
	struct gsa_block_info block;
	struct gsa_block_info found;
	uint64_t offset_bytes;

	(void)state;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_true(block.plain);
	assert_int_equal(block.reserved_bytes, 1000);
	assert_int_equal(gsa_find(bench->allocator, block.address + 999, &found), GS_OK);
	assert_int_equal(gsa_find(bench->allocator, block.address + 1000, &found), GS_E_NOT_FOUND);
	assert_int_equal(gsa_block_handles(bench->allocator, block.address, &span, 1, &offset_bytes), 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 1000);
	assert_true(gsa_holds(bench->allocator, block.address + 999));
	assert_false(gsa_holds(bench->allocator, block.address + 1000));
	give(bench, block.address, 0);
	assert_false(gsa_holds(bench->allocator, block.address));
	assert_int_equal(bench->fake.plain_count, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	assert_int_equal(gsa_free(bench->allocator, block.address, NULL, NULL), GS_E_NOT_FOUND);
	bench_close(bench);
}

/* Memory that was given back leaves a hole: what lies in it is not held, what lies behind it is. */
static void held_is_what_is_mapped(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 64 * MIB, 1);
	uint64_t second = take(bench, 64 * MIB, 1);

	(void)state;
	assert_true(first < second);
	give(bench, first, 1);
	fake_finish(&bench->fake, 1);
	assert_int_equal(gsa_trim(bench->allocator, 0), 64 * MIB);
	assert_false(gsa_holds(bench->allocator, first));
	assert_false(gsa_holds(bench->allocator, second - 1));
	assert_true(gsa_holds(bench->allocator, second));
	give(bench, second, 1);
	assert_true(gsa_holds(bench->allocator, second + 64 * MIB - 1));
	bench_close(bench);
}

static void refused(enum fake_op op)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_block_info block;
	uint64_t again;

	fake_fail(&bench->fake, op, 0, 1, GS_E_UNSUPPORTED);
	assert_int_equal(fake_alloc(bench->allocator, 8 * MIB, 1, &block), GS_OK);
	assert_int_equal(bench->fake.fail_fired, 1);
	assert_true(block.plain);
	assert_int_equal(bench->fake.mapping_count, 0);
	assert_int_equal(bench->fake.handle_count, 0);
	give(bench, block.address, 1);
	assert_true(gsa_holds(bench->allocator, block.address));
	assert_int_equal(gsa_free(bench->allocator, block.address, NULL, NULL), GS_E_NOT_FOUND);
	assert_int_equal(take(bench, 8 * MIB, 1), block.address);
	again = take(bench, 8 * MIB, 1);
	give(bench, again, 1);
	assert_int_equal(take(bench, 7 * MIB + 512, 1), again); /* within an eighth */
	give(bench, again, 1);
	assert_int_not_equal(take(bench, 6 * MIB, 1), again); /* not within it */
	assert_int_equal(bench->fake.calls[FAKE_CREATE], op == FAKE_RESERVE ? 0 : op == FAKE_SET_ACCESS ? 4 : 1);
	bench_close(bench);
}

static void h34_refused_virtual_memory_means_plain_segments(void **state)
{
	(void)state;
	refused(FAKE_RESERVE);
	refused(FAKE_CREATE);
	refused(FAKE_MAP);
	refused(FAKE_SET_ACCESS);
}

static void h34_a_refusal_may_look_like_out_of_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_block_info block;

	(void)state;
	fake_fail(&bench->fake, FAKE_CREATE, 0, 1000, GS_E_NO_MEMORY);
	assert_int_equal(fake_alloc(bench->allocator, 8 * MIB, 1, &block), GS_OK);
	assert_true(block.plain);
	bench_close(bench);
}

static void a_capture_may_forbid_growing(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_block_info block;

	(void)state;
	fake_fail(&bench->fake, FAKE_CREATE, 0, 1, GS_E_FORBIDDEN);
	assert_int_equal(fake_alloc(bench->allocator, 8 * MIB, 1, &block), GS_E_FORBIDDEN);
	assert_int_equal(fake_alloc(bench->allocator, 8 * MIB, 1, &block), GS_OK);
	assert_false(block.plain);
	bench_close(bench);
}

static void plain_segments_are_cached_per_context(void **state)
{
	struct bench *bench = bench_open(plain_options(), GIB);
	struct gsa_request request = {.size_bytes = 8 * MIB, .origin = GSA_ORIGIN_LEGACY, .owner = 2};
	struct gsa_block_info block;
	uint64_t first = take(bench, 8 * MIB, 0);

	(void)state;
	give(bench, first, 0);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_int_not_equal(block.address, first);
	assert_int_equal(take(bench, 8 * MIB, 0), first);
	assert_int_equal(bench->fake.calls[FAKE_CREATE], 0);
	bench_close(bench);
}

static void h14_a_failure_at_handle_k_undoes_cleanly(void **state)
{
	static const enum fake_op ops[] = {FAKE_CREATE, FAKE_MAP};
	struct gsa_block_info block;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 4; k++) {
			struct bench *bench = bench_open(fake_options(), 4 * GIB);

			take(bench, 2 * MIB, 1);
			fake_fail(&bench->fake, ops[i], k, 2, GS_E_NO_MEMORY);
			assert_int_equal(fake_alloc(bench->allocator, 1000 * MIB, 1, &block), GS_E_NO_MEMORY);
			assert_int_equal(bench->fake.mapping_count, 1);
			assert_int_equal(bench->fake.handle_count, 1);
			fake_fail(&bench->fake, ops[i], 0, 0, GS_OK);
			assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * MIB);
			take(bench, 1000 * MIB, 1);
			assert_int_equal(bench->fake.mapping_count, 1 + 50); /* handles of 20 MiB */
			bench_close(bench);
		}
	}
}

static void handles_behind_a_block(void **state)
{
	struct bench *bench = bench_open(fake_options(), 4 * GIB);
	struct gsa_handle_span spans[4];
	uint64_t offset_bytes = 0;
	uint64_t first = take(bench, 3 * MIB, 1);
	uint64_t second = take(bench, 3 * MIB, 1);

	(void)state;
	assert_int_equal(gsa_block_handles(bench->allocator, first, spans, 4, &offset_bytes), 2);
	assert_int_equal(offset_bytes, 0);
	assert_int_equal(spans[0].size_bytes, 2 * MIB);
	assert_int_equal(gsa_block_handles(bench->allocator, second, spans, 1, &offset_bytes), 2);
	assert_int_equal(offset_bytes, 1 * MIB);
	assert_int_equal(gsa_block_handles(bench->allocator, 512, spans, 4, &offset_bytes), 0);
	bench_close(bench);
}

static void access_is_set_again_over_everything_mapped(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t a = take(bench, 8 * MIB, 1);
	uint64_t b = take(bench, 8 * MIB, 1);

	(void)state;
	take(bench, 8 * MIB, 1);
	take(bench, 512, 1);
	give(bench, b, 1);
	gsa_trim(bench->allocator, 0);
	for (unsigned i = 0; i < bench->fake.mapping_count; i++)
		bench->fake.mappings[i].access = false;
	assert_int_equal(gsa_access_changed(bench->allocator), GS_OK);
	for (unsigned i = 0; i < bench->fake.mapping_count; i++)
		assert_true(bench->fake.mappings[i].access);
	fake_fail(&bench->fake, FAKE_SET_ACCESS, 0, 1, GS_E_DRIVER);
	assert_int_equal(gsa_access_changed(bench->allocator), GS_E_DRIVER);
	assert_true(fake_usable(&bench->fake, a, 8 * MIB));
	bench_close(bench);
}

struct seen {
	uint64_t last;
	uint64_t segment_bytes;
	uint64_t block_bytes;
	unsigned count[3];
	unsigned kinds[3];
};

static void see_segment(void *user, enum gsa_segment_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct seen *seen = user;

	assert_true(address >= seen->last);
	seen->kinds[kind]++;
	seen->segment_bytes += size_bytes;
}

static void see_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	struct seen *seen = user;

	assert_true(info->address >= seen->last);
	seen->last = info->address + info->reserved_bytes;
	seen->block_bytes += info->reserved_bytes;
	seen->count[state]++;
}

static void a_walk_sees_everything_in_order(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct seen seen = {0};
	struct gsa_visitor visitor = {.segment = see_segment, .block = see_block, .user = &seen};
	struct gsa_request request = {.size_bytes = 100, .origin = GSA_ORIGIN_LEGACY, .owner = 1, .plain = true};
	struct gsa_block_info block;
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	take(bench, 7 * MIB, 1);
	take(bench, 512, 1);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	give(bench, first, 1);
	gsa_walk(bench->allocator, &visitor);
	assert_int_equal(seen.count[GSA_BLOCK_LIVE], 3);
	assert_int_equal(seen.count[GSA_BLOCK_PENDING], 1);
	assert_int_equal(seen.count[GSA_BLOCK_IDLE], 2);
	assert_int_equal(seen.kinds[GSA_SEGMENT_EXPANDABLE], 2);
	assert_int_equal(seen.kinds[GSA_SEGMENT_PLAIN], 1);
	assert_int_equal(seen.segment_bytes, seen.block_bytes);
	assert_int_equal(seen.segment_bytes, bench_stats(bench)->reserved_bytes.now);
	bench_close(bench);
}

/* Blocks of all segments of a pool are one list. */
static void a_walk_sees_each_block_of_fixed_segments_once(void **state)
{
	struct gsa_options options = fake_options();
	struct seen seen = {0};
	struct gsa_visitor visitor = {.segment = see_segment, .block = see_block, .user = &seen};
	struct bench *bench;

	(void)state;
	options.expandable = false;
	bench = bench_open(options, GIB);
	for (unsigned i = 0; i < 4; i++)
		take(bench, 40 * MIB, 1);
	gsa_walk(bench->allocator, &visitor);
	assert_int_equal(seen.count[GSA_BLOCK_LIVE], 4);
	assert_true(seen.kinds[GSA_SEGMENT_FIXED] > 1);
	assert_int_equal(seen.segment_bytes, seen.block_bytes);
	bench_close(bench);
}

static void what_was_asked_is_remembered(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(3);
	struct gsa_request request = {.size_bytes = 700,
				      .origin = GSA_ORIGIN_ASYNC,
				      .stream = &stream,
				      .owner = 9,
				      .pool = 8,
				      .stack = 7,
				      .thread = 6};
	struct gsa_block_info block;
	struct gsa_block_info found;

	(void)state;
	bench->fake.clock_ns = 55;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_int_equal(gsa_find(bench->allocator, block.address + 1, &found), GS_OK);
	assert_int_equal(found.address, block.address);
	assert_int_equal(found.serial, block.serial);
	assert_int_equal(block.size_bytes, 700);
	assert_int_equal(block.owner, 9);
	assert_int_equal(block.pool, 8);
	assert_int_equal(block.stack, 7);
	assert_int_equal(block.thread, 6);
	assert_int_equal(block.stream_id, 3);
	assert_int_equal(block.time_ns, 55);
	assert_int_equal(block.origin, GSA_ORIGIN_ASYNC);
	assert_int_equal(bench_stats(bench)->allocated_async_bytes.now, 700);
	gsa_free(bench->allocator, block.address, &stream, &found);
	assert_int_equal(found.serial, block.serial);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &found), GS_OK);
	assert_int_not_equal(found.serial, block.serial);
	gsa_stats_reset_peak(bench->allocator);
	assert_int_equal(bench_stats(bench)->live_count.peak, 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_expandable_segment_grows_by_what_is_missing),
	    cmocka_unit_test(sizes_are_rounded_to_512),
	    cmocka_unit_test(small_and_large_blocks_keep_apart),
	    cmocka_unit_test(a_small_request_takes_crumbs_before_it_fails),
	    cmocka_unit_test(a_bad_pointer_is_not_found),
	    cmocka_unit_test(trim_leaves_live_memory_and_holes_are_filled_first),
	    {"H11 a handle under a live block stays", h11_a_handle_under_a_live_block_stays, NULL, NULL, NULL},
	    cmocka_unit_test(trim_does_not_take_pending_memory),
	    cmocka_unit_test(a_refused_unmap_keeps_the_memory),
	    cmocka_unit_test(fixed_segments_do_not_merge_and_reuse_addresses),
	    cmocka_unit_test(the_ladder_gives_idle_memory_back_and_tries_again),
	    cmocka_unit_test(the_ladder_waits_only_when_memory_is_pending),
	    cmocka_unit_test(less_will_do_when_a_whole_step_is_not_there),
	    cmocka_unit_test(the_limit_holds),
	    cmocka_unit_test(plain_requests_go_to_the_driver_and_back),
	    cmocka_unit_test(held_is_what_is_mapped),
	    {"H34 refused virtual memory means plain segments", h34_refused_virtual_memory_means_plain_segments, NULL,
	     NULL, NULL},
	    {"H34 a refusal may look like out of memory", h34_a_refusal_may_look_like_out_of_memory, NULL, NULL, NULL},
	    cmocka_unit_test(a_capture_may_forbid_growing),
	    cmocka_unit_test(plain_segments_are_cached_per_context),
	    {"H14 a failure at handle k undoes cleanly", h14_a_failure_at_handle_k_undoes_cleanly, NULL, NULL, NULL},
	    cmocka_unit_test(handles_behind_a_block),
	    cmocka_unit_test(access_is_set_again_over_everything_mapped),
	    cmocka_unit_test(a_walk_sees_everything_in_order),
	    cmocka_unit_test(a_walk_sees_each_block_of_fixed_segments_once),
	    cmocka_unit_test(what_was_asked_is_remembered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator memory", tests, NULL, NULL);
}
