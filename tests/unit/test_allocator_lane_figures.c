/* What is told of blocks and bytes that are in lanes: as without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/gsa_lanes.h"

static void sum(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	((uint64_t *)user)[state] += state == GSA_BLOCK_LIVE ? info->size_bytes : info->reserved_bytes;
}

static void a_walk_sees_what_lanes_hold(void **state)
{
	struct bench *bench = lanes_open(GIB);
	uint64_t bytes[GSA_BLOCK_STATE_COUNT] = {0};
	struct gsa_visitor visitor = {.block = sum, .user = bytes};

	(void)state;
	start(bench, 1);
	start(bench, 2);
	take_lent(bench, 1000, 1);
	take_lent(bench, 3000, 2);
	gsa_walk(bench->allocator, &visitor);
	bench_stats(bench);
	assert_int_equal(bytes[GSA_BLOCK_LIVE], 4000);
	assert_int_equal(bytes[GSA_BLOCK_PENDING], bench->stats.pending_bytes.now);
	assert_int_equal(bytes[GSA_BLOCK_IDLE], bench->stats.idle_bytes.now);
	assert_int_equal(bytes[GSA_BLOCK_LENT], 0);
	bench_close(bench);
}

/* The same program with and without: figures at each step that ask nothing of where memory lies. */
static void figures_are_as_without(void **state)
{
	struct bench *benches[2] = {lanes_open(4 * GIB), bench_open(fake_options(), 4 * GIB)};
	uint64_t addresses[2][50] = {{0}}, random = 1;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		const struct gsa_stats *stats[2];
		unsigned which;
		uint64_t size_bytes;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		which = (unsigned)(random >> 33) % 50;
		size_bytes = 1 + (random >> 40) % (i % 100 == 0 ? MIB : 64 * KIB);
		for (unsigned with = 0; with < 2; with++) {
			uint64_t *address = &addresses[with][which];

			if (*address != 0)
				give(benches[with], *address, 1);
			*address = *address != 0 && i % 3 != 0 ? 0 : take(benches[with], size_bytes, 1);
			stats[with] = i % 16 == 0 || i > 4900 ? bench_stats(benches[with]) : NULL;
		}
		/* Not bench_stats, whose check settles the books; and not always, or they always are. */
		for (unsigned with = 0; with < 2 && i % 16 == 8; with++) {
			gsa_stats_read(benches[with]->allocator, &benches[with]->stats);
			assert_int_equal(benches[with]->stats.live_count.now,
					 benches[with]->stats.allocs - benches[with]->stats.frees);
			assert_int_equal(benches[with]->stats.allocs, benches[0]->stats.allocs);
		}
		if (i == 2500) {
			gsa_stats_reset_peak(benches[0]->allocator);
			gsa_stats_reset_peak(benches[1]->allocator);
		}
		if (stats[0] == NULL)
			continue;
#define SAME(name) assert_int_equal(stats[0]->name, stats[1]->name)
#define SAME_GAUGE(name) SAME(name.now), SAME(name.peak)
		SAME_GAUGE(allocated_bytes);
		SAME_GAUGE(allocated_async_bytes);
		SAME_GAUGE(allocated_legacy_bytes);
		SAME_GAUGE(rounded_bytes);
		SAME_GAUGE(live_count);
		SAME(allocs);
		SAME(frees);
		assert_int_equal(stats[0]->allocs - stats[0]->frees, stats[0]->live_count.now);
		assert_int_equal(stats[0]->reserved_bytes.now,
				 stats[0]->rounded_bytes.now + stats[0]->pending_bytes.now + stats[0]->idle_bytes.now);
	}
	assert_true(lane_of(benches[0], 1)->served > 1000);
	bench_close(benches[0]);
	bench_close(benches[1]);
}

static void come_and_go(struct bench *bench, unsigned count)
{
	uint64_t addresses[4];

	for (unsigned i = 0; i < count; i++)
		addresses[i] = take_lent(bench, 64 * KIB, 1);
	for (unsigned i = 0; i < count; i++)
		give(bench, addresses[i], 1);
}

/* Of the time since the peaks were reset. */
static void what_lived_for_a_moment_is_in_the_peak(void **state)
{
	void (*const resets[])(struct gsa *) = {NULL, gsa_stats_reset_peak, gsa_stats_reset_pool_used};
	struct bench *bench = lanes_open(GIB);
	struct gsa_stats before;

	(void)state;
	start(bench, 1);
	before = *bench_stats(bench);
	for (unsigned i = 0; i < 3; i++) {
		unsigned count = 3 - i; /* too few for the books to be settled in between */

		if (resets[i] != NULL) {
			come_and_go(bench, count + 1);
			resets[i](bench->allocator);
		}
		come_and_go(bench, count);
		bench_stats(bench);
		assert_int_equal(bench->stats.allocated_async_bytes.now, before.allocated_async_bytes.now);
		assert_int_equal(bench->stats.allocated_async_bytes.peak,
				 before.allocated_async_bytes.now + count * 64 * KIB);
		if (resets[i] != gsa_stats_reset_pool_used)
			assert_int_equal(bench->stats.live_count.peak, before.live_count.now + count);
	}
	bench_close(bench);
}

/* It counts when something is allocated for the pool: not as memory of cudaMalloc becomes the pool's. */
static void the_peak_of_the_pool_is_reset(void **state)
{
	struct bench *bench = lanes_open(GIB);
	uint64_t legacy, pool_bytes;

	(void)state;
	start(bench, 1);
	legacy = take(bench, 4 * MIB, 0);
	come_and_go(bench, 1);
	gsa_stats_reset_pool_held(bench->allocator);
	pool_bytes = bench->allocator->stats.pool_bytes.now;
	give(bench, legacy, 0);
	bench_stats(bench);
	assert_int_equal(bench->stats.pool_bytes.now, pool_bytes + 4 * MIB);
	assert_int_equal(bench->stats.pool_bytes.peak, pool_bytes);
	bench_close(bench);
}

static void what_is_known_of_a_block_is_as_without(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_stream stream = fake_stream(1);
	struct gsa_request request = {.size_bytes = 1000,
				      .origin = GSA_ORIGIN_ASYNC,
				      .stream = &stream,
				      .owner = 7,
				      .pool = 8,
				      .stack = 9,
				      .thread = 10,
				      .time_ns = 11};
	struct gsa_block_info block, found;

	(void)state;
	start(bench, 1);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_true(is_lent(bench, block.address, 1));
	for (unsigned back = 0; back < 2; back++) {
		assert_int_equal(gsa_find(bench->allocator, block.address + 999, &found), GS_OK);
		assert_int_equal(found.address, block.address);
		assert_int_equal(found.size_bytes, 1000);
		assert_int_equal(found.reserved_bytes, 1024);
		assert_int_equal(found.owner, 7);
		assert_int_equal(found.pool, 8);
		assert_int_equal(found.stack, 9);
		assert_int_equal(found.thread, 10);
		assert_int_equal(found.time_ns, 11);
		assert_int_equal(found.stream_id, 1);
		assert_int_equal(found.serial, block.serial);
		assert_int_equal(found.segment_address, block.segment_address);
		assert_true(found.segment_bytes >= 2 * MIB);
		gsa_walk(bench->allocator, &(struct gsa_visitor){0});
		assert_false(is_lent(bench, block.address, 1));
	}
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_walk_sees_what_lanes_hold),
	    cmocka_unit_test(figures_are_as_without),
	    cmocka_unit_test(what_lived_for_a_moment_is_in_the_peak),
	    cmocka_unit_test(the_peak_of_the_pool_is_reset),
	    cmocka_unit_test(what_is_known_of_a_block_is_as_without),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator lanes, figures", tests, NULL, NULL);
}
