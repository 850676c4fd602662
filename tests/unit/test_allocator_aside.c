/* Small blocks that are set aside for their like: nobody else gets them too early, and nobody misses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/types.h"
#include "shim/base/err.h"
#include "tests/lib/gsa_test.h"

#define PLACE_MATES GSA_ASIDE_STREAMS /* streams whose ids differ by this share a place */

static unsigned aside(const struct bench *bench, uint64_t stream_id)
{
	const struct gsa_aside *lists = &bench->allocator->asides[stream_id % GSA_ASIDE_STREAMS];

	return lists->stream.id == stream_id ? lists->count : 0;
}

/* With a block that lives all the time, of a program that once had none. */
static struct bench *bench_begun(void)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	give(bench, take(bench, 512, 3), 3);
	take(bench, 512, 3);
	return bench;
}

static void a_block_serves_its_like(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t blocks[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		blocks[i] = take(bench, 4 * KIB, 1);
	for (int i = 0; i < 3; i++)
		give(bench, blocks[i], 1);
	assert_int_equal(aside(bench, 1), 3);
	for (int i = 2; i >= 0; i--)
		assert_int_equal(take(bench, 4 * KIB - (unsigned)i, 1), blocks[i]);
	assert_int_equal(aside(bench, 1), 0);
	bench_close(bench);
}

static void no_other_size_gets_it(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t block = take(bench, 4 * KIB, 1), barrier = take(bench, 512, 1);

	(void)state;
	give(bench, block, 1);
	assert_int_not_equal(take(bench, 4 * KIB - 512, 1), block);
	assert_int_equal(take(bench, 4 * KIB, 1), block);
	assert_int_not_equal(barrier, block);
	bench_close(bench);
}

/* H1, H2: neither another stream nor memory without one, before a fence says so; then they do. */
static void no_other_stream_gets_it_before_its_work_is_done(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t first = take(bench, 16 * KIB, 1), others[3] = {2, 1 + PLACE_MATES, 0};

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	assert_int_equal(aside(bench, 1), 1);
	for (int i = 0; i < 3; i++) {
		uint64_t other = take(bench, 16 * KIB, others[i]);

		assert_int_not_equal(other, first);
		give(bench, other, others[i]);
	}
	fake_finish(&bench->fake, 1);
	gsa_stream_idle(bench->allocator, 1, UINT64_MAX);
	assert_int_equal(aside(bench, 1), 0);
	gsa_device_idle(bench->allocator, UINT64_MAX);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

/* H2: a wait that began before the free says nothing of it. */
static void an_older_wait_does_not_make_it_idle(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t block = take(bench, 4 * KIB, 1), before = gsa_free_serial(bench->allocator);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, block, 1);
	gsa_device_idle(bench->allocator, before);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 4 * KIB);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

/* H6: what is aside outlives its stream. */
static void a_stream_that_ends_leaves_its_memory(void **state)
{
	struct bench *bench = bench_begun();
	struct gsa_stream stream = fake_stream(1);
	uint64_t block = take(bench, 4 * KIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, block, 1);
	gsa_stream_ending(bench->allocator, &stream);
	assert_int_equal(aside(bench, 1), 0);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	bench->fake.gone[1] = true;
	fake_finish(&bench->fake, 1);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

/* Memory that other sizes have set aside is used before there is more of it. */
static void nothing_is_held_for_what_is_aside(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t blocks[512], held_bytes;

	(void)state;
	for (int i = 0; i < 512; i++)
		blocks[i] = take(bench, 4 * KIB, 1);
	held_bytes = bench->fake.used_bytes;
	fake_submit(&bench->fake, 1);
	for (uint64_t size_bytes = 8 * KIB; size_bytes <= MIB; size_bytes *= 2) {
		unsigned count = (unsigned)(2 * MIB / size_bytes);

		for (unsigned i = 0; i < 2 * count; i++)
			give(bench, blocks[i], 1);
		for (unsigned i = 0; i < count; i++)
			blocks[i] = take(bench, size_bytes, 1);
		assert_int_equal(bench->fake.used_bytes, held_bytes);
	}
	bench_close(bench);
}

static void a_block_that_is_aside_is_not_live(void **state)
{
	struct bench *bench = bench_begun();
	struct gsa_stream stream = fake_stream(1);
	uint64_t block = take(bench, 4 * KIB, 1);
	struct gsa_block_info info;
	struct gsa_note note;

	(void)state;
	assert_int_equal(gsa_free_held(bench->allocator, block, &stream, &note), GS_OK);
	assert_int_equal(aside(bench, 1), 1);
	assert_int_equal(gsa_free_held(bench->allocator, block, &stream, &note), GS_E_NOT_FOUND);
	assert_int_equal(gsa_free(bench->allocator, block, &stream, NULL), GS_E_NOT_FOUND);
	assert_int_equal(gsa_find(bench->allocator, block, &info), GS_E_NOT_FOUND);
	assert_true(gsa_holds(bench->allocator, block));
	assert_int_equal(gsa_share(bench->allocator, block), GS_E_NOT_FOUND);
	bench_close(bench);
}

/* Where such a size wraps when it is rounded, too: no list is that of nothing. */
static void a_size_beyond_reason_is_refused(void **state)
{
	static const uint64_t sizes[] = {0, (1ull << 46) + 1, UINT64_MAX - 511, UINT64_MAX - 510, UINT64_MAX};
	struct bench *bench = bench_begun();
	struct gsa_stream stream = fake_stream(1);
	struct gsa_request request = {.origin = GSA_ORIGIN_ASYNC, .stream = &stream, .owner = 1};
	uint64_t address = 1;

	(void)state;
	give(bench, take(bench, 512, 1), 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		request.size_bytes = sizes[i];
		assert_int_equal(gsa_alloc_held(bench->allocator, &request, &address),
				 sizes[i] == 0 ? GS_E_INVALID : GS_E_NO_MEMORY);
		assert_int_equal(address, 1);
	}
	assert_int_equal(aside(bench, 1), 1);
	bench_close(bench);
}

/* What is freed elsewhere than it was allocated, shared, or without a stream is not set aside. */
static void only_what_goes_back_to_its_stream(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t elsewhere = take(bench, 4 * KIB, 1), shared = take(bench, 4 * KIB, 1), legacy = take(bench, 4 * KIB, 0);
	uint64_t large = take(bench, 16 * KIB + 1, 1);

	(void)state;
	assert_int_equal(gsa_share(bench->allocator, shared), GS_OK);
	give(bench, elsewhere, 2);
	give(bench, shared, 1);
	give(bench, legacy, 1);
	give(bench, large, 1);
	assert_int_equal(aside(bench, 1) + aside(bench, 2), 0);
	bench_close(bench);
}

/* Streams that share a place do not get each other's blocks; the second one's are merged. */
static void a_place_has_one_stream(void **state)
{
	struct bench *bench = bench_begun();
	uint64_t first = take(bench, 4 * KIB, 1), second = take(bench, 4 * KIB, 1 + PLACE_MATES);

	(void)state;
	give(bench, first, 1);
	give(bench, second, 1 + PLACE_MATES);
	assert_int_equal(aside(bench, 1), 1);
	assert_int_equal(take(bench, 4 * KIB, 1 + PLACE_MATES), second);
	assert_int_equal(take(bench, 4 * KIB, 1), first);
	give(bench, second, 1 + PLACE_MATES);
	assert_int_equal(aside(bench, 1 + PLACE_MATES), 1);
	bench_close(bench);
}

static void there_is_room_for_so_many(void **state)
{
	struct bench *bench = bench_begun();
	static uint64_t blocks[GSA_ASIDE_BLOCKS + 8];

	(void)state;
	for (unsigned i = 0; i < GSA_ASIDE_BLOCKS + 8; i++)
		blocks[i] = take(bench, 512, 1);
	for (unsigned i = 0; i < GSA_ASIDE_BLOCKS + 8; i++)
		give(bench, blocks[i], 1);
	assert_int_equal(aside(bench, 1), GSA_ASIDE_BLOCKS);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	bench_close(bench);
}

/* A program that repeats its step without ever waiting, and frees in the order of its allocations: lists alone would hand the blocks
 * of a size out in another order each time. */
static void a_repeated_step_gets_the_same_addresses(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t before[60] = {0}, kept[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		kept[i] = take(bench, 3 * KIB, 1);
	for (unsigned step = 0; step < 12; step++) {
		uint64_t blocks[60];
		unsigned moved = 0;

		fake_submit(&bench->fake, 1);
		for (unsigned i = 0; i < 60; i++) {
			blocks[i] = take(bench, 512 * (1 + i * 7 % 5), 1);
			if (i >= 20)
				give(bench, blocks[i - 20], 1);
			moved += blocks[i] != before[i];
			before[i] = blocks[i];
		}
		for (unsigned i = 40; i < 60; i++)
			give(bench, blocks[i], 1);
		if (step >= 3)
			assert_int_equal(moved, 0);
	}
	for (unsigned i = 0; i < 5; i++)
		give(bench, kept[i], 1);
	fake_finish(&bench->fake, 1);
	bench_close(bench);
}

/* In the books it is pending; the peaks are those of the program. */
/* Four blocks come and go; in the middle the host has waited for something. */
static void step_with_wait(struct bench *bench)
{
	uint64_t blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = take(bench, 4 * KIB, 1);
	give(bench, blocks[0], 1);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	for (int i = 1; i < 4; i++)
		give(bench, blocks[i], 1);
}

/* Where steps end is known anew once the program has waited: also with more blocks that live on. */
static void a_wait_shows_where_steps_end(void **state)
{
	struct bench *bench = bench_begun();

	(void)state;
	for (int step = 0; step < 3; step++)
		step_with_wait(bench);
	assert_int_equal(aside(bench, 1), 0);
	for (int i = 0; i < 5; i++)
		take(bench, 3 * KIB, 2);
	for (int step = 0; step < 3; step++)
		step_with_wait(bench);
	assert_int_equal(aside(bench, 1), 0);
	bench_close(bench);
}

static void figures_are_true(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 4000, 1), second = take(bench, 4000, 1);
	struct gsa_stats stats;

	(void)state;
	give(bench, first, 1);
	gsa_stats_read(bench->allocator, &stats);
	assert_int_equal(stats.allocated_bytes.now, 4000);
	assert_int_equal(stats.pending_bytes.now, 4096);
	assert_int_equal(stats.rounded_bytes.now, 4096);
	assert_int_equal(stats.frees, 1);
	gsa_stats_reset_peak(bench->allocator);
	assert_int_equal(take(bench, 3900, 1), first);
	gsa_stats_read(bench->allocator, &stats);
	assert_int_equal(aside(bench, 1), 0);
	assert_int_equal(stats.allocated_bytes.now, 7900);
	assert_int_equal(stats.allocated_bytes.peak, 7900);
	assert_int_equal(stats.allocated_async_bytes.peak, 7900);
	assert_int_equal(stats.rounded_bytes.peak, 8192);
	assert_int_equal(stats.live_count.peak, 2);
	assert_int_equal(stats.pending_bytes.now, 0);
	assert_int_equal(stats.pool_bytes.peak, stats.reserved_bytes.now);
	assert_int_equal(stats.allocs, 3);
	give(bench, second, 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_block_serves_its_like),
	    cmocka_unit_test(no_other_size_gets_it),
	    cmocka_unit_test(no_other_stream_gets_it_before_its_work_is_done),
	    cmocka_unit_test(an_older_wait_does_not_make_it_idle),
	    cmocka_unit_test(a_stream_that_ends_leaves_its_memory),
	    cmocka_unit_test(nothing_is_held_for_what_is_aside),
	    cmocka_unit_test(a_block_that_is_aside_is_not_live),
	    cmocka_unit_test(a_size_beyond_reason_is_refused),
	    cmocka_unit_test(only_what_goes_back_to_its_stream),
	    cmocka_unit_test(a_place_has_one_stream),
	    cmocka_unit_test(there_is_room_for_so_many),
	    cmocka_unit_test(a_repeated_step_gets_the_same_addresses),
	    cmocka_unit_test(a_wait_shows_where_steps_end),
	    cmocka_unit_test(figures_are_true),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator blocks set aside", tests, NULL, NULL);
}
