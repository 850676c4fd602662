/* Lanes: what a stream with one gets and frees is as without, whoever looks; and who needs all memory gets it back. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "tests/lib/gsa_lanes.h"

static unsigned heat(struct bench *bench, unsigned more)
{
	unsigned value;

	gsb_lock_acquire(&bench->allocator->lock);
	value = bench->allocator->heat += more;
	gsb_lock_release(&bench->allocator->lock);
	return value;
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

/* The first who asks for what is not alive takes the chunk from the lane. */
static void what_is_freed_twice(void **state)
{
	struct bench *bench = lanes_open(GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t address, beside;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 100 * KIB, 1);
	beside = take_lent(bench, 100 * KIB, 1);
	give(bench, address, 1);
	assert_true(is_lent(bench, address, 1));
	assert_int_equal(gsa_free(bench->allocator, address, &stream, NULL), GS_E_NOT_FOUND);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	give(bench, beside, 1);
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

/* The device runs low: what lanes hold free is what others need. */
static void where_memory_is_low_lanes_end(void **state)
{
	struct bench *bench = lanes_open(GIB);

	(void)state;
	start(bench, 1);
	take_lent(bench, 100 * KIB, 1);
	give(bench, take_lent(bench, MIB, 1), 1);
	gsa_purge(bench->allocator, UINT64_MAX, false);
	assert_int_equal(lane_count(bench), 1);
	gsa_purge(bench->allocator, UINT64_MAX, true);
	assert_int_equal(lane_count(bench), 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * MIB);
	bench_close(bench);
}

static void a_context_that_ends_ends_the_lanes(void **state)
{
	struct bench *bench = lanes_open(GIB);
	uint64_t address, other;

	(void)state;
	start(bench, 1);
	address = take_lent(bench, 900 * KIB, 1);
	other = take_lent(bench, 100 * KIB, 1);
	give(bench, address, 1);
	assert_int_equal(gsa_owner_gone(bench->allocator, 1), 0);
	assert_int_equal(lane_count(bench), 0);
	assert_int_equal(bench_stats(bench)->live_count.now, 1);
	give(bench, other, 0);
	bench_close(bench);
}

static uint64_t process_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return (uint64_t)pages * 4096;
}

/* What it keeps for its books is far less than the map of what is lent. */
static void an_allocator_that_ends_gives_the_map_back(void **state)
{
	enum { ROUNDS = 16 };
	uint64_t before = process_bytes(), map_bytes = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct bench *bench = lanes_open(GIB);

		start(bench, 1);
		map_bytes = bench->allocator->lent_range_bytes / GSA_LENT_BYTES * sizeof(struct gsa_lent);
		bench_close(bench);
	}
	assert_true(process_bytes() - before < ROUNDS / 2 * map_bytes);
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
	    cmocka_unit_test(what_is_freed_twice),
	    cmocka_unit_test(a_free_on_another_stream),
	    cmocka_unit_test(a_lane_whose_memory_goes_elsewhere_gets_no_more),
	    cmocka_unit_test(shared_memory_is_no_lane_s),
	    cmocka_unit_test(a_stream_that_ends_leaves_its_memory_to_all),
	    cmocka_unit_test(where_memory_is_low_lanes_end),
	    cmocka_unit_test(a_context_that_ends_ends_the_lanes),
	    cmocka_unit_test(an_allocator_that_ends_gives_the_map_back),
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
