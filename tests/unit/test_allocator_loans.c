/* Memory on its way to a lane, which is in no lane yet and cannot be allocated: whoever looks, or needs all memory, in
 * that moment has it as if it were free. The moment is that in which the driver's new memory is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/lend.h"
#include "shim/base/fault.h"
#include "tests/lib/gsa_test.h"

static struct bench *bench;
static void (*meanwhile)(void);
static uint64_t first_address;

static void on_segment(void *device, bool mapped, uint64_t address, uint64_t size_bytes)
{
	void (*act)(void) = meanwhile;

	fake_ops.on_segment(device, mapped, address, size_bytes);
	if (act == NULL || bench->allocator->loans == NULL)
		return;
	meanwhile = NULL;
	give(bench, first_address, 1);
	act();
}

/* The first request makes the pools, the second one a lane, with `act` while memory is on the way to it. */
static struct gsa_block_info start(uint64_t capacity_bytes, void (*act)(void))
{
	struct gsa_options options = fake_options();
	struct gsa_block_info block;
	struct gsa_ops ops = fake_ops;

	ops.on_segment = on_segment;
	options.lanes = GSA_LANES_ALWAYS;
	bench = malloc(sizeof(*bench));
	fake_init(&bench->fake, capacity_bytes);
	assert_int_equal(gsa_init(&bench->allocator, &ops, &bench->fake, &options), GS_OK);
	first_address = take(bench, 512, 1);
	meanwhile = act;
	assert_int_equal(fake_alloc(bench->allocator, 100 * KIB, 1, &block), GS_OK);
	assert_null(meanwhile);
	assert_null(bench->allocator->loans);
	gsa_check(bench->allocator);
	return block;
}

static void end(void)
{
	meanwhile = NULL;
	bench_close(bench);
}

static void sum(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	((uint64_t *)user)[state] += info->reserved_bytes;
}

static void walk(void)
{
	uint64_t bytes[GSA_BLOCK_STATE_COUNT] = {0};
	struct gsa_visitor visitor = {.block = sum, .user = bytes};

	gsa_walk(bench->allocator, &visitor);
	bench_stats(bench);
	assert_int_equal(bytes[GSA_BLOCK_LENT], 0);
	assert_int_equal(bytes[GSA_BLOCK_PENDING], bench->stats.pending_bytes.now);
	assert_int_equal(bytes[GSA_BLOCK_IDLE], bench->stats.idle_bytes.now);
	assert_int_equal(bytes[GSA_BLOCK_PENDING] + bytes[GSA_BLOCK_IDLE], bench->stats.reserved_bytes.now);
}

static void a_walk_sees_it_as_free(void **state)
{
	(void)state;
	start(GIB, walk);
	end();
}

static void trim(void)
{
	assert_true(bench_stats(bench)->reserved_bytes.now > 0);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	assert_int_equal(bench->fake.used_bytes, 0);
}

static void a_trim_gives_it_back(void **state)
{
	(void)state;
	start(GIB, trim);
	end();
}

static void need_all(void)
{
	struct gsa_block_info block;

	assert_int_equal(fake_alloc(bench->allocator, 4 * MIB, 2, &block), GS_OK);
	assert_int_equal(bench_stats(bench)->out_of_memory, 0);
	give(bench, block.address, 2);
}

static void who_needs_all_memory_gets_it(void **state)
{
	(void)state;
	start(4 * MIB, need_all);
	end();
}

static void end_stream(void)
{
	struct gsa_stream stream = fake_stream(1);

	gsa_stream_ending(bench->allocator, &stream);
	trim();
}

static void it_outlives_no_lane(void **state)
{
	(void)state;
	start(GIB, end_stream);
	end();
}

/* Its place has gone to the next one meanwhile. */
static void again(void)
{
	gsa_walk(bench->allocator, &(struct gsa_visitor){0});
	take(bench, 512, 1);
	assert_non_null(atomic_load(gsa_lane_slot(bench->allocator, 1))->chunks);
}

static void what_was_taken_back_is_not_lent_twice(void **state)
{
	struct gsa_block_info block;

	(void)state;
	block = start(GIB, again);
	give(bench, block.address, 1);
	end();
}

/* No lane ends the other's. */
static void end_other(void)
{
	struct gsa_stream stream = fake_stream(2);

	take(bench, 512, 2);
	gsa_stream_ending(bench->allocator, &stream);
	assert_non_null(bench->allocator->loans);
}

static void it_arrives_though_another_lane_ends(void **state)
{
	struct gsa_block_info block;

	(void)state;
	block = start(GIB, end_other);
	assert_non_null(atomic_load(&gsa_lane_lent(bench->allocator, block.address)->lane));
	end();
}

static void end_lanes(void *user)
{
	(void)user;
	bench->fake.before_map = NULL;
	gsa_walk(bench->allocator, &(struct gsa_visitor){0});
}

/* The lane ends before there is memory for it. */
static void without_its_lane_nothing_is_lent(void **state)
{
	struct gsa_block_info block;

	(void)state;
	start(GIB, trim);
	bench->fake.before_map = end_lanes;
	assert_int_equal(fake_alloc(bench->allocator, MIB, 1, &block), GS_OK);
	assert_null(bench->fake.before_map);
	assert_null(bench->allocator->loans);
	assert_int_equal(atomic_load(&bench->allocator->lane_count), 0);
	gsa_check(bench->allocator);
	end();
}

static void starve(void)
{
	gsa_free_serial(bench->allocator); /* what is set aside takes its nodes before */
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 1);
}

/* There is memory, and none for its books. */
static void without_a_node_it_is_free(void **state)
{
	(void)state;
	start(GIB, starve);
	assert_int_equal(gsb_fault_fired(GSB_FAULT_SLAB), 1);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 0);
	assert_int_equal(atomic_load(&bench->allocator->lane_count), 0);
	gsa_trim(bench->allocator, 0);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 2 * MIB);
	end();
}

/* Without pages for a lane there is none, and that is not tried again at once: requests are served as ever. */
static void no_pages_for_lanes(void **state)
{
	unsigned fired = 0;

	(void)state;
	for (unsigned passes = 0; passes == 0 || fired > 0; passes++) {
		struct gsa_options options = fake_options();
		unsigned calls;

		options.lanes = GSA_LANES_ALWAYS;
		bench = bench_open(options, GIB);
		give(bench, take(bench, 512, 1), 1);
		gsb_fault_arm(GSB_FAULT_PAGES, passes, UINT32_MAX);
		give(bench, take(bench, 512, 1), 1);
		fired = gsb_fault_fired(GSB_FAULT_PAGES);
		calls = bench->fake.call_count;
		for (unsigned i = 0; i < 100; i++)
			give(bench, take(bench, 512, 1), 1);
		assert_int_equal(bench->fake.call_count, calls);
		assert_in_range(gsb_fault_fired(GSB_FAULT_PAGES), fired, fired + 1);
		gsb_fault_arm(GSB_FAULT_PAGES, 0, 0);
		bench_close(bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_walk_sees_it_as_free),
	    cmocka_unit_test(a_trim_gives_it_back),
	    cmocka_unit_test(who_needs_all_memory_gets_it),
	    cmocka_unit_test(it_outlives_no_lane),
	    cmocka_unit_test(what_was_taken_back_is_not_lent_twice),
	    cmocka_unit_test(it_arrives_though_another_lane_ends),
	    cmocka_unit_test(without_its_lane_nothing_is_lent),
	    cmocka_unit_test(without_a_node_it_is_free),
	    cmocka_unit_test(no_pages_for_lanes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator loans", tests, NULL, NULL);
}
