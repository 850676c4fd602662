/* Lanes: what a stream with one gets and frees is as without, whoever looks; and who needs all memory gets it back. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "allocator/lend.h"
#include "tests/lib/gsa_test.h"

static struct bench *lanes_open(uint64_t capacity_bytes)
{
	struct gsa_options options = fake_options();

	options.lanes = GSA_LANES_ALWAYS;
	return bench_open(options, capacity_bytes);
}

static unsigned lane_count(struct bench *bench)
{
	return atomic_load(&bench->allocator->lane_count);
}

static struct gsa_lane *lane_of(struct bench *bench, uint64_t stream_id)
{
	return atomic_load(gsa_lane_slot(bench->allocator, stream_id));
}

static unsigned heat(struct bench *bench, unsigned more)
{
	unsigned value;

	gsb_lock_acquire(&bench->allocator->lock);
	value = bench->allocator->heat += more;
	gsb_lock_release(&bench->allocator->lock);
	return value;
}

/* The address lies in a chunk of the stream's lane. */
static bool is_lent(struct bench *bench, uint64_t address, uint64_t stream_id)
{
	struct gsa_lent *lent = gsa_lane_lent(bench->allocator, address);

	return lent != NULL && atomic_load(&lent->lane) != NULL &&
	       atomic_load(&lent->lane) == lane_of(bench, stream_id) &&
	       lane_of(bench, stream_id)->stream.id == stream_id;
}

/* The first request makes the pools, the second one the stream's lane. */
static void start(struct bench *bench, uint64_t stream_id)
{
	give(bench, take(bench, 512, stream_id), stream_id);
	give(bench, take(bench, 512, stream_id), stream_id);
	assert_int_equal(lane_of(bench, stream_id)->stream.id, stream_id);
}

static uint64_t take_lent(struct bench *bench, uint64_t size_bytes, uint64_t stream_id)
{
	uint64_t address = take(bench, size_bytes, stream_id);

	assert_true(is_lent(bench, address, stream_id));
	return address;
}

static void a_stream_gets_its_own_memory_back_at_once(void **state)
{
	struct bench *bench = lanes_open(GIB);
	uint64_t address;
	unsigned calls;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	fake_submit(&bench->fake, 1);
	give(bench, address, 1);
	calls = bench->fake.call_count;
	assert_int_equal(take_lent(bench, 100 * KIB, 1), address);
	assert_int_equal(bench->fake.call_count, calls);
	bench_close(bench);
}

static void no_other_stream_gets_it_before_its_work_is_done(void **state)
{
	struct bench *bench = lanes_open(16 * MIB);
	struct gsa_block_info block;
	uint64_t address, other;
	unsigned found = 0;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	fake_submit(&bench->fake, 1);
	give(bench, address, 1);
	while (fake_alloc(bench->allocator, 100 * KIB, 2, &block) == GS_OK) {
		if (fake_finished(&bench->fake, 1, 1))
			break;
		other = block.address;
		found += other < address + 100 * KIB && address < other + 100 * KIB;
	}
	assert_int_equal(found, 0);
	fake_finish(&bench->fake, 1);
	bench_close(bench);
}

/* Of streams whose lanes would lie in the same place one has none. */
static void a_lane_has_one_stream(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_stream stream = fake_stream(1);
	struct gsa_request request = {
	    .size_bytes = 100 * KIB, .origin = GSA_ORIGIN_ASYNC, .stream = &stream, .owner = 1};
	struct gsa_block_info block;
	uint64_t address;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	give(bench, address, 1);
	stream.id += GSA_LANES;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_false(is_lent(bench, block.address, 1));
	assert_int_equal(gsa_free(bench->allocator, block.address, NULL, NULL), GS_OK);
	assert_int_equal(take_lent(bench, 100 * KIB, 1), address);
	bench_close(bench);
}

/* As many blocks as there is memory, and the last ones out of what a lane held. */
static void out_of_memory_comes_only_when_lanes_have_none(void **state)
{
	struct bench *bench = lanes_open(32 * MIB);
	struct gsa_block_info block;
	uint64_t addresses[64];
	unsigned count = 0;

	(void)state;
	start(bench, 1);
	for (unsigned i = 0; i < 20; i++)
		addresses[i] = take(bench, MIB, 1);
	assert_true(is_lent(bench, addresses[19], 1));
	for (unsigned i = 0; i < 20; i++)
		give(bench, addresses[i], 1);
	while (fake_alloc(bench->allocator, MIB, 0, &block) == GS_OK)
		count++;
	assert_int_equal(count, 32);
	assert_int_equal(lane_count(bench), 0);
	assert_int_equal(bench_stats(bench)->out_of_memory, 1);
	bench_close(bench);
}

static void what_is_trimmed_is_all_that_is_free(void **state)
{
	struct bench *bench = lanes_open(GIB);
	uint64_t addresses[40];

	(void)state;
	start(bench, 1);
	for (unsigned i = 0; i < 40; i++)
		addresses[i] = take(bench, 512 * KIB, 1);
	for (unsigned i = 0; i < 40; i++)
		give(bench, addresses[i], 1);
	assert_true(bench_stats(bench)->pending_bytes.now >= 2 * MIB);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	assert_int_equal(bench->fake.used_bytes, 0);
	bench_close(bench);
}

/* What is not alive, not the lane's, or not the stream's own is answered as without lanes. */
static void bad_frees(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_stream stream = fake_stream(1);
	struct gsa_block_info block;
	struct gsa_note note;
	uint64_t address;

	(void)state;
	start(bench, 1);
	for (unsigned held = 0; held < 2; held++) {
		address = take(bench, 100 * KIB, 1);
		take(bench, 100 * KIB, 1);
#define FREE(at)                                                                                                       \
	(held ? gsa_free_held(bench->allocator, at, &stream, &note) : gsa_free(bench->allocator, at, &stream, &block))
		assert_int_equal(FREE(address + 512), GS_E_NOT_FOUND);
		assert_int_equal(FREE(address + 1), GS_E_NOT_FOUND);
		assert_int_equal(gsa_find(bench->allocator, address + 512, &block), GS_OK);
		assert_int_equal(block.address, address);
		assert_int_equal(FREE(address), GS_OK);
		assert_int_equal(FREE(address), GS_E_NOT_FOUND);
#undef FREE
		assert_int_equal(gsa_find(bench->allocator, address, &block), GS_E_NOT_FOUND);
		assert_true(gsa_holds(bench->allocator, address));
	}
	bench_close(bench);
}

/* Its chunk goes back to the pool, and the block is pending on the stream that it was freed on. */
static void a_free_on_another_stream(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_block_info block;
	uint64_t address, beside, other;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	beside = take_lent(bench, 100 * KIB, 1);
	fake_submit(&bench->fake, 2);
	give(bench, address, 2);
	assert_false(is_lent(bench, beside, 1));
	assert_int_equal(gsa_find(bench->allocator, beside, &block), GS_OK);
	gsa_check(bench->allocator);
	for (unsigned i = 0; i < 20; i++) {
		other = take(bench, 100 * KIB, 1);
		assert_true(other + 100 * KIB <= address || address + 100 * KIB <= other);
	}
	give(bench, beside, 1);
	fake_finish(&bench->fake, 2);
	bench_close(bench);
}

static void a_lane_whose_memory_goes_elsewhere_gets_no_more(void **state)
{
	struct bench *bench = lanes_open(4 * GIB);
	unsigned lent = 0;

	(void)state;
	start(bench, 1);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t address = take(bench, 100 * KIB, 1);

		lent += is_lent(bench, address, 1);
		give(bench, address, 0);
	}
	assert_in_range(lent, 1, 20);
	bench_close(bench);
}

static void shared_memory_is_no_lane_s(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_handle_span spans[8];
	uint64_t address, offset_bytes;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	assert_in_range(gsa_block_handles(bench->allocator, address, spans, 8, &offset_bytes), 1, 8);
	assert_false(is_lent(bench, address, 1));
	assert_int_equal(gsa_share(bench->allocator, address), GS_OK);
	give(bench, address, 1);
	for (unsigned i = 0; i < 50; i++)
		assert_true(take(bench, 100 * KIB, 1) != address);
	address = take_lent(bench, 100 * KIB, 1);
	assert_int_equal(gsa_hold(bench->allocator, address), GS_OK);
	assert_false(is_lent(bench, address, 1));
	bench_close(bench);
}

static void a_stream_that_ends_leaves_its_memory_to_all(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t address, other;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 900 * KIB, 1);
	other = take_lent(bench, 100 * KIB, 1);
	give(bench, address, 1);
	gsa_stream_ending(bench->allocator, &stream);
	assert_int_equal(lane_count(bench), 0);
	assert_int_equal(gsa_owner_gone(bench->allocator, 1), 0);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	assert_int_equal(bench->stats.reserved_bytes.now, 2 * MIB);
	give(bench, other, 0);
	bench_close(bench);
}

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
		for (unsigned with = 0; with < 2; with++) {
			gsa_stats_read(benches[with]->allocator, &benches[with]->stats);
			assert_int_equal(benches[with]->stats.allocs - benches[with]->stats.frees,
					 benches[with]->stats.live_count.now);
		}
		assert_int_equal(benches[0]->stats.allocs, benches[1]->stats.allocs);
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
		assert_int_equal(stats[0]->reserved_bytes.now,
				 stats[0]->rounded_bytes.now + stats[0]->pending_bytes.now + stats[0]->idle_bytes.now);
	}
	assert_true(lane_of(benches[0], 1)->served > 1000);
	bench_close(benches[0]);
	bench_close(benches[1]);
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

static void lanes_that_are_not_used_end(void **state)
{
	struct bench *bench = lanes_open(GIB);

	(void)state;
	start(bench, 1);
	start(bench, 2);
	start(bench, 3);
	bench->fake.clock_ns += 1000000000;
	gsa_purge(bench->allocator, UINT64_MAX, false);
	assert_int_equal(lane_count(bench), 3);
	take_lent(bench, 512, 1);
	take_lent(bench, 512, 3);
	bench->fake.clock_ns += 1000000000;
	gsa_purge(bench->allocator, UINT64_MAX, false);
	assert_int_equal(lane_count(bench), 2);
	take_lent(bench, 512, 1);
	bench->fake.clock_ns += 1000000000;
	gsa_purge(bench->allocator, UINT64_MAX, false);
	assert_int_equal(lane_count(bench), 0);
	bench_close(bench);
}

static void what_a_lane_holds_free_is_little(void **state)
{
	struct bench *bench = lanes_open(4 * GIB);
	static uint64_t addresses[400];

	(void)state;
	start(bench, 1);
	for (unsigned i = 0; i < 400; i++)
		addresses[i] = take(bench, 256 * KIB, 1);
	for (unsigned i = 0; i < 400; i++) {
		struct gsa_lane *lane = lane_of(bench, 1);

		give(bench, addresses[i], 1);
		bench_stats(bench);
		gsa_check(bench->allocator);
		assert_true(lane->held_bytes - lane->live_bytes <=
			    2 * (lane->live_bytes / 4 + MIB) + 2 * GSA_CHUNK_BYTES);
	}
	bench_close(bench);
}

/* A lane full of holes that are too small gets no more: others serve what they cannot. */
static void a_lane_with_much_free_gets_no_more(void **state)
{
	struct bench *bench = lanes_open(4 * GIB);
	static uint64_t addresses[4000];
	uint64_t held_bytes;

	(void)state;
	start(bench, 1);
	for (unsigned i = 0; i < 4000; i++)
		addresses[i] = take_lent(bench, 4 * KIB, 1);
	for (unsigned i = 0; i < 4000; i += 2)
		give(bench, addresses[i], 1);
	held_bytes = lane_of(bench, 1)->held_bytes;
	for (unsigned i = 0; i < 100; i++)
		take(bench, 700 * KIB, 1);
	assert_in_range(lane_of(bench, 1)->held_bytes, held_bytes, held_bytes + 2 * MIB);
	bench_close(bench);
}

/* Where nobody is in the way there are none. */
static void one_thread_has_no_lanes(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	for (unsigned i = 0; i < 5000; i++)
		give(bench, take(bench, 1000, 1 + i % 4), 1 + i % 4);
	assert_int_equal(lane_count(bench), 0);
	assert_int_equal(heat(bench, 0), 0);
	bench_close(bench);
}

struct holder {
	struct bench *bench;
	_Atomic bool holds;
};

static void *hold_the_lock(void *argument)
{
	struct holder *holder = argument;

	gsb_lock_acquire(&holder->bench->allocator->lock);
	atomic_store(&holder->holds, true);
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	gsb_lock_release(&holder->bench->allocator->lock);
	return NULL;
}

static void a_lock_that_is_taken_is_noticed(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	for (unsigned i = 0; heat(bench, 0) == 0 && i < 100; i++) {
		struct holder holder = {.bench = bench};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, hold_the_lock, &holder), 0);
		while (!atomic_load(&holder.holds))
			;
		give(bench, take(bench, 512, 1), 1);
		pthread_join(thread, NULL);
	}
	assert_in_range(heat(bench, 0), 1, GSA_HEAT_MOST);
	bench_close(bench);
}

static void a_lock_that_is_often_taken_makes_lanes(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	give(bench, take(bench, 512, 1), 1);
	heat(bench, GSA_HEAT_LANES - 2);
	give(bench, take(bench, 512, 1), 1);
	assert_int_equal(lane_count(bench), 0);
	heat(bench, 10);
	give(bench, take(bench, 512, 1), 1);
	give(bench, take(bench, 512, 2), 2);
	assert_int_equal(lane_count(bench), 2);
	bench_close(bench);
}

static void never_means_never(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;

	(void)state;
	options.lanes = GSA_LANES_NEVER;
	bench = bench_open(options, GIB);
	for (unsigned i = 0; i < 100; i++) {
		heat(bench, GSA_HEAT_LANES);
		give(bench, take(bench, 512, 1), 1);
	}
	assert_int_equal(lane_count(bench), 0);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stream_gets_its_own_memory_back_at_once),
	    cmocka_unit_test(no_other_stream_gets_it_before_its_work_is_done),
	    cmocka_unit_test(a_lane_has_one_stream),
	    cmocka_unit_test(out_of_memory_comes_only_when_lanes_have_none),
	    cmocka_unit_test(what_is_trimmed_is_all_that_is_free),
	    cmocka_unit_test(bad_frees),
	    cmocka_unit_test(a_free_on_another_stream),
	    cmocka_unit_test(a_lane_whose_memory_goes_elsewhere_gets_no_more),
	    cmocka_unit_test(shared_memory_is_no_lane_s),
	    cmocka_unit_test(a_stream_that_ends_leaves_its_memory_to_all),
	    cmocka_unit_test(a_walk_sees_what_lanes_hold),
	    cmocka_unit_test(figures_are_as_without),
	    cmocka_unit_test(what_is_known_of_a_block_is_as_without),
	    cmocka_unit_test(lanes_that_are_not_used_end),
	    cmocka_unit_test(what_a_lane_holds_free_is_little),
	    cmocka_unit_test(a_lane_with_much_free_gets_no_more),
	    cmocka_unit_test(one_thread_has_no_lanes),
	    cmocka_unit_test(a_lock_that_is_taken_is_noticed),
	    cmocka_unit_test(a_lock_that_is_often_taken_makes_lanes),
	    cmocka_unit_test(never_means_never),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator lanes", tests, NULL, NULL);
}
