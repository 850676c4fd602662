/* Memory that others map is not used again (H13), and what is looked up by its address does not move (H12). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

#define HOUR_NS 3600000000000ull

static void share(struct bench *bench, uint64_t address)
{
	assert_int_equal(gsa_share(bench->allocator, address), GS_OK);
}

/* Frees without a stream, as cudaFree does. */
static void drop(struct bench *bench, uint64_t address)
{
	give(bench, address, 0);
	gsa_share_sweep(bench->allocator);
}

static void shared_memory_goes_back_when_it_is_freed(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t shared = take(bench, 8 * MIB, 0);
	uint64_t held_bytes = bench->fake.used_bytes;

	(void)state;
	share(bench, shared + 5);
	drop(bench, shared);
	assert_true(bench->fake.used_bytes <= held_bytes - 8 * MIB);
	assert_false(fake_usable(&bench->fake, shared, 1));
	assert_int_equal(bench_stats(bench)->allocated_bytes.now, 0);
	assert_int_equal(gsa_share(bench->allocator, shared), GS_E_NOT_FOUND);
	bench_close(bench);
}

static void a_neighbour_keeps_its_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t before = take(bench, 1000, 0), shared = take(bench, 1000, 0), after = take(bench, 1000, 0);
	struct gsa_block_info found;

	(void)state;
	share(bench, shared);
	drop(bench, shared);
	assert_int_equal(gsa_find(bench->allocator, shared, &found), GS_E_NOT_FOUND);
	assert_true(gsa_holds(bench->allocator, shared));
	assert_int_equal(gsa_free(bench->allocator, shared, NULL, NULL), GS_E_NOT_FOUND);
	assert_true(fake_usable(&bench->fake, before, 1000) && fake_usable(&bench->fake, after, 1000));
	assert_true(take(bench, 1000, 0) != shared);
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void the_last_neighbour_takes_it_along(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t before = take(bench, 1000, 0), shared = take(bench, 1000, 0), after = take(bench, 1000, 0);

	(void)state;
	share(bench, shared);
	drop(bench, shared);
	give(bench, before, 0);
	give(bench, after, 0);
	gsa_trim(bench->allocator, UINT64_MAX);
	assert_int_equal(bench->fake.used_bytes, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	bench_close(bench);
}

static void work_that_uses_it_is_waited_for(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t shared = take(bench, 8 * MIB, 0);

	(void)state;
	share(bench, shared);
	fake_submit(&bench->fake, 1);
	drop(bench, shared);
	assert_true(fake_usable(&bench->fake, shared, 8 * MIB));
	assert_true(take(bench, 8 * MIB, 1) != shared);
	fake_finish(&bench->fake, 1);
	gsa_share_sweep(bench->allocator);
	assert_false(fake_usable(&bench->fake, shared, 1));
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void freed_on_a_stream_it_is_not_reused_there(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t shared = take(bench, 8 * MIB, 1), kept = take(bench, 8 * MIB, 1);

	(void)state;
	share(bench, shared);
	fake_submit(&bench->fake, 1);
	give(bench, shared, 1);
	give(bench, kept, 1);
	assert_int_equal(take(bench, 8 * MIB, 1), kept);
	assert_true(take(bench, 8 * MIB, 1) != shared);
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void it_is_not_the_way_out_of_a_shortage(void **state)
{
	struct bench *bench = bench_open(fake_options(), 32 * MIB);
	uint64_t neighbour = take(bench, 3 * MIB, 0), shared = take(bench, 9 * MIB, 0);
	struct gsa_block_info block;

	(void)state;
	share(bench, shared);
	fake_submit(&bench->fake, 1);
	drop(bench, shared);
	fake_finish(&bench->fake, 1);
	while (fake_alloc(bench->allocator, MIB, 1, &block) == GS_OK)
		assert_true(bench->fake.used_bytes <= 32 * MIB);
	assert_true(fake_usable(&bench->fake, neighbour, 3 * MIB));
	gsa_check(bench->allocator);
	bench_close(bench);
}

static void what_the_driver_will_not_unmap_is_not_reused(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t shared = take(bench, 8 * MIB, 0);

	(void)state;
	share(bench, shared);
	fake_fail(&bench->fake, FAKE_UNMAP, 0, 1, GS_E_DRIVER);
	drop(bench, shared);
	assert_true(bench_stats(bench)->rounded_bytes.now >= 2 * MIB);
	gsa_share_sweep(bench->allocator);
	assert_int_equal(bench_stats(bench)->rounded_bytes.now, 0);
	assert_false(fake_usable(&bench->fake, shared, 1));
	bench_close(bench);
}

static void it_goes_with_its_context(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_request request = {.size_bytes = 8 * MIB, .owner = 77};
	struct gsa_block_info block;

	(void)state;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	share(bench, block.address);
	assert_int_equal(gsa_owner_gone(bench->allocator, 77), 1);
	assert_false(fake_usable(&bench->fake, block.address, 1));
	bench_close(bench);
}

static void plain_memory_is_not_cached(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t shared;

	(void)state;
	options.use_vmm = false;
	bench = bench_open(options, GIB);
	shared = take(bench, 8 * MIB, 0);
	share(bench, shared);
	drop(bench, shared);
	assert_int_equal(bench->fake.used_bytes, 0);
	bench_close(bench);
}

static unsigned mappings_of(const struct fake *fake, uint64_t address)
{
	uint64_t handle = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < fake->mapping_count; i++)
		if (address - fake->mappings[i].address < fake->mappings[i].size_bytes)
			handle = fake->mappings[i].handle;
	for (unsigned i = 0; i < fake->mapping_count; i++)
		count += fake->mappings[i].handle == handle;
	return count;
}

/* Pieces of which none is large enough, all idle: they are stitched, but not what is held in place. */
static void what_is_looked_up_by_address_does_not_move(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t free[8], held;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		free[i] = take(bench, 8 * MIB, 0);
		take(bench, 8 * MIB, 0);
	}
	held = free[3];
	assert_int_equal(gsa_hold(bench->allocator, held), GS_OK);
	for (unsigned i = 0; i < 8; i++)
		give(bench, free[i], 0);
	take(bench, 7 * 8 * MIB, 0);
	assert_true(bench_stats(bench)->stitches > 0);
	assert_int_equal(mappings_of(&bench->fake, held), 1);
	assert_int_equal(mappings_of(&bench->fake, free[2]), 2);
	assert_int_equal(gsa_hold(bench->allocator, held), GS_E_NOT_FOUND);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shared_memory_goes_back_when_it_is_freed),
	    cmocka_unit_test(a_neighbour_keeps_its_memory),
	    cmocka_unit_test(the_last_neighbour_takes_it_along),
	    cmocka_unit_test(work_that_uses_it_is_waited_for),
	    cmocka_unit_test(freed_on_a_stream_it_is_not_reused_there),
	    cmocka_unit_test(it_is_not_the_way_out_of_a_shortage),
	    cmocka_unit_test(what_the_driver_will_not_unmap_is_not_reused),
	    cmocka_unit_test(it_goes_with_its_context),
	    cmocka_unit_test(plain_memory_is_not_cached),
	    cmocka_unit_test(what_is_looked_up_by_address_does_not_move),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator share", tests, NULL, NULL);
}
