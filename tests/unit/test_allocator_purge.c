/* What goes back to the driver because nobody wants it, and the settings that PyTorch has too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

#define SECOND_NS 1000000000ull
#define HANDLE_BYTES (10 * MIB) /* at most: whole ones go back */

static void pass(struct bench *bench, uint64_t ns)
{
	bench->fake.clock_ns += ns;
}

static uint64_t purge(struct bench *bench, bool low)
{
	uint64_t bytes = gsa_purge(bench->allocator, 10 * SECOND_NS, low);

	gsa_check(bench->allocator);
	return bytes;
}

static void unwanted_memory_goes_back(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 64 * MIB, 1), second = take(bench, 32 * MIB, 1);

	(void)state;
	give(bench, first, 1);
	assert_int_equal(purge(bench, false), 0);
	pass(bench, 9 * SECOND_NS);
	assert_int_equal(purge(bench, false), 0);
	pass(bench, SECOND_NS);
	assert_int_equal(purge(bench, false), 64 * MIB);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 32 * MIB);
	give(bench, second, 1);
	bench_close(bench);
}

/* A step that needs it now and then keeps what it needs, and no more. */
static void wanted_memory_stays(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t peak = take(bench, 128 * MIB, 1);

	(void)state;
	give(bench, peak, 1);
	assert_int_equal(purge(bench, false), 0);
	for (int second = 0; second < 9; second++) {
		give(bench, take(bench, 96 * MIB, 1), 1);
		pass(bench, SECOND_NS);
		assert_int_equal(purge(bench, false), 0);
	}
	pass(bench, SECOND_NS);
	assert_in_range(purge(bench, false), 32 * MIB, 32 * MIB + HANDLE_BYTES - 1);
	assert_in_range(bench_stats(bench)->reserved_bytes.now, 96 * MIB - HANDLE_BYTES + 1, 96 * MIB);
	bench_close(bench);
}

static void low_memory_asks_for_a_second_only(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	give(bench, take(bench, 64 * MIB, 1), 1);
	assert_int_equal(purge(bench, true), 0);
	pass(bench, SECOND_NS / 2);
	assert_int_equal(purge(bench, true), 0);
	pass(bench, SECOND_NS / 2);
	assert_int_equal(purge(bench, true), 64 * MIB);
	bench_close(bench);
}

static void pending_memory_is_not_purged(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, take(bench, 64 * MIB, 1), 1);
	purge(bench, false);
	pass(bench, 20 * SECOND_NS);
	assert_int_equal(purge(bench, false), 0);
	fake_finish(&bench->fake, 1);
	pass(bench, 20 * SECOND_NS);
	assert_int_equal(purge(bench, false), 64 * MIB);
	bench_close(bench);
}

static uint64_t reserved_for(struct bench *bench, uint64_t size_bytes)
{
	struct gsa_block_info info;

	assert_int_equal(fake_alloc(bench->allocator, size_bytes, 1, &info), GS_OK);
	assert_int_equal(info.size_bytes, size_bytes);
	return info.reserved_bytes;
}

static void roundup_power2_divisions(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;

	(void)state;
	options.roundup_divisions = 4;
	bench = bench_open(options, GIB);
	assert_int_equal(reserved_for(bench, 5 * MIB + 1), 6 * MIB);
	assert_int_equal(reserved_for(bench, 6 * MIB), 6 * MIB);
	assert_int_equal(reserved_for(bench, 7 * MIB + 1), 8 * MIB);
	assert_int_equal(reserved_for(bench, 2048), 2048);
	assert_int_equal(reserved_for(bench, 2049), 2560);
	assert_int_equal(reserved_for(bench, 1025), 1536);
	bench_close(bench);
}

static void large_segment_size(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t large_bytes;

	(void)state;
	options.large_segment_bytes = 20 * MIB;
	bench = bench_open(options, GIB);
	take(bench, 2 * MIB, 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 20 * MIB);
	take(bench, 40 * MIB, 1);
	large_bytes = bench_stats(bench)->reserved_bytes.now;
	assert_in_range(large_bytes, 42 * MIB, 60 * MIB);
	take(bench, 512 * KIB, 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, large_bytes + 2 * MIB);
	bench_close(bench);
}

static void max_split_size(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t large, larger;

	(void)state;
	options.expandable = false;
	options.max_split_bytes = 8 * MIB;
	bench = bench_open(options, GIB);
	large = take(bench, 30 * MIB, 1);
	larger = take(bench, 60 * MIB, 1);
	give(bench, large, 1);
	give(bench, larger, 1);
	assert_int_not_equal(take(bench, 4 * MIB, 1), large);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 94 * MIB);
	assert_int_equal(take(bench, 12 * MIB, 1), large);
	assert_int_not_equal(take(bench, 30 * MIB, 1), larger);
	assert_int_equal(take(bench, 60 * MIB, 1), larger);
	give(bench, large = take(bench, 16 * MIB, 1), 1);
	assert_int_not_equal(take(bench, 7 * MIB, 1), large);
	bench_close(bench);
}

/* Whatever is not to be cut, new memory serves the request that it was made for: no more is made than that needs. */
static void max_split_size_leaves_every_size_to_be_had(void **state)
{
	static const uint64_t splits[] = {1, MIB, 2 * MIB, 7 * MIB, 8 * MIB, 21 * MIB};
	static const uint64_t sizes[] = {100,	     600 * KIB, MIB,	  3 * MIB / 2, 13 * MIB / 2,
					 7 * MIB - 1, 8 * MIB,	9 * MIB, 15 * MIB,    21 * MIB + 1};
	struct gsa_options options = fake_options();
	struct bench *bench;

	(void)state;
	options.expandable = false;
	for (unsigned i = 0; i < sizeof(splits) / sizeof(splits[0]); i++)
		for (unsigned large = 0; large < 2; large++)
			for (unsigned j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
				options.max_split_bytes = splits[i];
				options.large_segment_bytes = large * 20 * MIB;
				bench = bench_open(options, 8 * GIB);
				for (unsigned count = 1; count <= 64; count++) {
					take(bench, sizes[j], 1);
					assert_true(bench_stats(bench)->reserved_bytes.now <=
						    count * (sizes[j] + 2 * MIB) + 20 * MIB + bench->stats.rounded_bytes.now / 8);
				}
				bench_close(bench);
			}
}

static void garbage_collection_threshold(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;

	(void)state;
	options.use_vmm = false;
	options.limit_bytes = 200 * MIB;
	options.collect_bytes = 50 * MIB;
	bench = bench_open(options, GIB);
	give(bench, take(bench, 15 * MIB, 0), 0);
	take(bench, 30 * MIB, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 45 * MIB);
	take(bench, 10 * MIB, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 40 * MIB);
	bench_close(bench);
}

static uint64_t tried_bytes;

static void try_meanwhile(void *user)
{
	struct bench *bench = user;

	bench->fake.before_map = NULL;
	tried_bytes = gsa_trim_try(bench->allocator);
}

/* For those who must not wait for a thread that maps memory: what is idle, but for nothing while one does. */
static void what_is_idle_goes_back_if_nobody_maps(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 64 * MIB, 1), second = take(bench, 32 * MIB, 1), idle_bytes;

	(void)state;
	assert_int_equal(gsa_trim_try(bench->allocator), 0);
	give(bench, first, 1);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	assert_int_equal(gsa_trim_try(bench->allocator), 64 * MIB);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 32 * MIB);
	give(bench, second, 1);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	tried_bytes = 1;
	bench->fake.before_map = try_meanwhile;
	bench->fake.before_map_user = bench;
	first = take(bench, 64 * MIB, 1);
	assert_int_equal(tried_bytes, 0);
	idle_bytes = bench_stats(bench)->idle_bytes.now;
	assert_int_equal(gsa_trim_try(bench->allocator), idle_bytes);
	give(bench, first, 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unwanted_memory_goes_back),
	    cmocka_unit_test(wanted_memory_stays),
	    cmocka_unit_test(low_memory_asks_for_a_second_only),
	    cmocka_unit_test(pending_memory_is_not_purged),
	    cmocka_unit_test(roundup_power2_divisions),
	    cmocka_unit_test(large_segment_size),
	    cmocka_unit_test(max_split_size),
	    cmocka_unit_test(max_split_size_leaves_every_size_to_be_had),
	    cmocka_unit_test(garbage_collection_threshold),
	    cmocka_unit_test(what_is_idle_goes_back_if_nobody_maps),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator purge and settings", tests, NULL, NULL);
}
