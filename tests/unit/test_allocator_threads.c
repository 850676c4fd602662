/* Several threads on one allocator: blocks stay apart, the books stay true. Each thread writes its number into a table
 * of owners by 512 bytes, so two owners of one place are seen at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/base/assert.h"
#include "tests/lib/gsa_test.h"

#define THREADS 4
#define OPERATIONS 20000
#define HELD 24
#define PLACES (1u << 28) /* 128 GiB, which is more than is ever made */

struct worker {
	struct bench *bench;
	unsigned number; /* from 1; also its stream */
	uint64_t random;
};

static _Atomic unsigned char owners[PLACES];

/* Who owns what is looked up in physical memory: stitched memory has two addresses. */
static void own(struct bench *bench, const struct gsa_block_info *block, unsigned from, unsigned to)
{
	uint64_t physical = 0, bytes = 0;

	for (uint64_t at = 0; at < block->reserved_bytes; at += 512, physical += 512, bytes -= 512) {
		unsigned char expected = (unsigned char)from;

		if (bytes == 0)
			physical = fake_physical(&bench->fake, block->address + at, &bytes);
		gsb_assert(physical / 512 < PLACES);
		if (physical % 8192 == 0 || at == 0 || at + 512 >= block->reserved_bytes)
			gsb_assert(atomic_compare_exchange_strong(&owners[physical / 512], &expected,
								  (unsigned char)to));
	}
}

static uint64_t draw(struct worker *worker, uint64_t below)
{
	worker->random = worker->random * 6364136223846793005ull + 1442695040888963407ull;
	return (worker->random >> 24) % below;
}

static void look_at_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	gsb_assert(info->reserved_bytes > 0 && state != GSA_BLOCK_UNMAPPED);
	++*(unsigned *)user;
}

/* All that only looks. */
static void look(struct gsa *allocator)
{
	unsigned count = 0;
	struct gsa_visitor visitor = {.block = look_at_block, .user = &count};

	gsa_ran_ahead(allocator);
	gsa_walk(allocator, &visitor);
	gsb_assert(gsa_free_serial(allocator) > 0 || count > 0);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct bench *bench = worker->bench;
	struct gsa_stream stream = fake_stream(worker->number);
	struct gsa_block_info blocks[HELD] = {{0}};

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct gsa_block_info *block = &blocks[draw(worker, HELD)];
		bool legacy = draw(worker, 4) == 0;
		uint64_t size_bytes = draw(worker, 2) == 0 ? 1 + draw(worker, 64 * KIB) : 1 + draw(worker, 6 * MIB);

		if (block->address == 0) {
			if (fake_alloc(bench->allocator, size_bytes, legacy ? 0 : worker->number, block) != GS_OK)
				block->address = 0;
			else
				own(bench, block, 0, worker->number);
		} else {
			own(bench, block, worker->number, 0);
			give(bench, block->address, legacy ? 0 : worker->number);
			block->address = 0;
		}
		switch (draw(worker, 400)) {
		case 0:
			gsa_trim(bench->allocator, 64 * MIB);
			break;
		case 1:
			fake_submit(&bench->fake, worker->number);
			break;
		case 2:
		case 3:
			fake_finish(&bench->fake, worker->number);
			break;
		case 4:
			gsa_stream_ending(bench->allocator, &stream);
			break;
		case 5:
			gsa_access_changed(bench->allocator);
			break;
		case 6:
			gsa_check(bench->allocator);
			break;
		case 7:
			look(bench->allocator);
			break;
		}
	}
	for (unsigned i = 0; i < HELD; i++) {
		if (blocks[i].address != 0) {
			own(bench, &blocks[i], worker->number, 0);
			give(bench, blocks[i].address, worker->number);
		}
	}
	return NULL;
}

static void run(struct gsa_options options, uint64_t capacity_bytes)
{
	struct bench *bench = bench_open(options, capacity_bytes);
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.bench = bench, .number = i + 1, .random = 99 + i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(bench_stats(bench)->live_count.now, 0);
	assert_int_equal(bench->stats.reserved_bytes.now, bench->fake.used_bytes);
	assert_int_equal(bench->fake.told_bytes, bench->fake.used_bytes);
	bench_close(bench);
}

static void plenty_of_memory(void **state)
{
	(void)state;
	run(fake_options(), 4 * GIB);
}

static void little_memory(void **state)
{
	(void)state;
	run(fake_options(), 200 * MIB);
}

static void fixed_segments(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.expandable = false;
	run(options, 400 * MIB);
}

static void lanes_with(uint64_t capacity_bytes)
{
	struct gsa_options options = fake_options();

	options.lanes = GSA_LANES_ALWAYS;
	run(options, capacity_bytes);
}

static void lanes(void **state)
{
	(void)state;
	lanes_with(4 * GIB);
}

static void lanes_and_little_memory(void **state)
{
	(void)state;
	lanes_with(200 * MIB);
}

/* Another thread that takes all that is free, whenever there is new memory. */
static void steal(void *user)
{
	struct bench *bench = user;
	struct gsa_request request = {.size_bytes = 3 * MIB / 2, .origin = GSA_ORIGIN_LEGACY, .owner = 1};
	uint64_t address;

	while (gsa_alloc_held(bench->allocator, &request, &address) == GS_OK)
		;
}

/* What new memory was to be joined with is taken each time: then it is made large enough by itself. */
static void what_others_take_meanwhile_keeps_nobody_for_ever(void **state)
{
	struct bench *bench = bench_open(fake_options(), 4 * GIB);
	struct gsa_block_info block;

	(void)state;
	take(bench, 5 * MIB / 2, 1);
	bench->fake.before_map = steal;
	bench->fake.before_map_user = bench;
	assert_int_equal(fake_alloc(bench->allocator, 11 * MIB / 2, 0, &block), GS_OK);
	assert_in_range(bench_stats(bench)->grows, 3, 10);
	bench->fake.before_map = NULL;
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plenty_of_memory),
	    cmocka_unit_test(little_memory),
	    cmocka_unit_test(fixed_segments),
	    cmocka_unit_test(lanes),
	    cmocka_unit_test(lanes_and_little_memory),
	    cmocka_unit_test(what_others_take_meanwhile_keeps_nobody_for_ever),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator threads", tests, NULL, NULL);
}
