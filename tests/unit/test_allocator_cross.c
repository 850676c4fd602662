/* Threads that share streams, and free, ask about and share each other's memory. Each place has one owner at a time, by
 * 512 bytes, and whoever holds a block finds it as it was served. */
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
#define STREAMS 6
#define OPERATIONS 15000
#define SLOTS 128
#define PLACES (1u << 27) /* 64 GiB, which is more than is ever made */

struct held {
	struct gsa_block_info block; /* address 0: none */
	uint64_t stream_id;
	_Atomic bool taken;
};

struct worker {
	struct bench *bench;
	uint64_t random;
};

static _Atomic unsigned char owners[PLACES];
static struct held slots[SLOTS];

static void own(struct bench *bench, const struct gsa_block_info *block, unsigned char from)
{
	uint64_t physical = 0, bytes = 0;

	for (uint64_t at = 0; at < block->reserved_bytes; at += 512, physical += 512, bytes -= 512) {
		unsigned char expected = from;

		if (bytes == 0)
			physical = fake_physical(&bench->fake, block->address + at, &bytes);
		gsb_assert(physical / 512 < PLACES);
		if (physical % 4096 == 0 || at == 0 || at + 512 >= block->reserved_bytes)
			gsb_assert(atomic_compare_exchange_strong(&owners[physical / 512], &expected, !from));
	}
}

static uint64_t draw(struct worker *worker, uint64_t below)
{
	worker->random = worker->random * 6364136223846793005ull + 1442695040888963407ull;
	return (worker->random >> 24) % below;
}

/* Every segment is its blocks, and each is alive, pending or idle. */
struct walk {
	uint64_t left_bytes;
};

static void walk_segment(void *user, enum gsa_segment_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct walk *walk = user;

	(void)kind;
	gsb_assert(address != 0 && walk->left_bytes == 0);
	walk->left_bytes = size_bytes;
}

static void walk_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	struct walk *walk = user;

	gsb_assert(state <= GSA_BLOCK_IDLE && info->reserved_bytes <= walk->left_bytes);
	walk->left_bytes -= info->reserved_bytes;
}

static void look(struct gsa *allocator)
{
	struct walk walk = {0};
	struct gsa_visitor visitor = {.segment = walk_segment, .block = walk_block, .user = &walk};

	gsa_walk(allocator, &visitor);
	gsb_assert(walk.left_bytes == 0);
}

static void serve(struct worker *worker, struct held *held)
{
	uint64_t size_bytes = 1 + draw(worker, draw(worker, 16) == 0 ? 4 * MIB : 40 * KIB);

	held->stream_id = draw(worker, 8) == 0 ? 0 : 1 + draw(worker, STREAMS);
	if (fake_alloc(worker->bench->allocator, size_bytes, held->stream_id, &held->block) != GS_OK)
		held->block.address = 0;
	else
		own(worker->bench, &held->block, 0);
}

static void ask(struct worker *worker, const struct held *held)
{
	struct gsa *allocator = worker->bench->allocator;
	struct gsa_handle_span spans[8];
	struct gsa_block_info found;
	uint64_t offset_bytes;

	gsb_assert(gsa_find(allocator, held->block.address + draw(worker, held->block.reserved_bytes), &found) == GS_OK);
	gsb_assert(found.address == held->block.address && found.serial == held->block.serial &&
		   found.size_bytes == held->block.size_bytes && found.stream_id == held->stream_id);
	gsb_assert(gsa_holds(allocator, held->block.address + draw(worker, held->block.reserved_bytes)));
	switch (draw(worker, 12)) {
	case 0:
		gsb_assert(gsa_share(allocator, held->block.address) == GS_OK);
		break;
	case 1:
		gsb_assert(gsa_hold(allocator, held->block.address) == GS_OK);
		break;
	case 2:
		gsb_assert(gsa_block_handles(allocator, held->block.address, spans, 8, &offset_bytes) > 0);
		break;
	}
}

/* On the stream that it is of, another one, or none. */
static void free_somewhere(struct worker *worker, struct held *held)
{
	struct gsa *allocator = worker->bench->allocator;
	uint64_t id = draw(worker, 6) != 0 ? held->stream_id : draw(worker, STREAMS + 1), address = held->block.address;
	struct gsa_stream stream = fake_stream(id), *named = id != 0 ? &stream : NULL;
	struct gsa_block_info block;
	struct gsa_note note;

	if (held->block.reserved_bytes > 512)
		gsb_assert(gsa_free(allocator, address + 512, named, NULL) == GS_E_NOT_FOUND);
	own(worker->bench, &held->block, 1);
	if (draw(worker, 2) == 0 || gsa_free_held(allocator, address, named, &note) != GS_OK) {
		gsb_assert(gsa_free(allocator, address, named, &block) == GS_OK);
		gsb_assert(block.serial == held->block.serial && block.size_bytes == held->block.size_bytes);
	}
	held->block.address = 0;
}

static void disturb(struct worker *worker)
{
	struct bench *bench = worker->bench;
	struct gsa_stream stream = fake_stream(1 + draw(worker, STREAMS));
	struct gsa_stats stats;

	switch (draw(worker, 12)) {
	case 0:
		gsa_trim(bench->allocator, draw(worker, 2) * 16 * MIB);
		break;
	case 1:
		fake_submit(&bench->fake, stream.id);
		break;
	case 2:
	case 3:
		fake_finish(&bench->fake, stream.id);
		break;
	case 4:
		gsa_stream_ending(bench->allocator, &stream);
		break;
	case 5:
		gsa_check(bench->allocator);
		break;
	case 6:
		look(bench->allocator);
		break;
	case 7:
		gsa_stats_read(bench->allocator, &stats);
		gsb_assert(stats.live_count.now == stats.allocs - stats.frees);
		gsb_assert(stats.reserved_bytes.now ==
			   stats.rounded_bytes.now + stats.pending_bytes.now + stats.idle_bytes.now);
		break;
	case 8:
		gsa_purge(bench->allocator, 1, draw(worker, 2) == 0);
		break;
	case 9:
		gsa_device_idle(bench->allocator, 0);
		gsa_share_sweep(bench->allocator);
		break;
	case 10:
		gsa_trim_try(bench->allocator);
		break;
	case 11:
		gsa_owner_gone(bench->allocator, 77);
		gsa_stats_reset_peak(bench->allocator);
		break;
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct held *held = &slots[draw(worker, SLOTS)];

		if (draw(worker, 40) == 0)
			disturb(worker);
		if (atomic_exchange(&held->taken, true))
			continue;
		if (held->block.address == 0)
			serve(worker, held);
		else if (draw(worker, 3) == 0)
			ask(worker, held);
		else
			free_somewhere(worker, held);
		atomic_store(&held->taken, false);
	}
	return NULL;
}

static void run(enum gsa_lanes lanes, uint64_t capacity_bytes, uint64_t seed)
{
	struct gsa_options options = fake_options();
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	struct bench *bench;

	options.lanes = lanes;
	bench = bench_open(options, capacity_bytes);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.bench = bench, .random = seed * 100 + i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].block.address != 0)
			free_somewhere(&workers[0], &slots[i]);
	assert_int_equal(bench_stats(bench)->live_count.now, 0);
	assert_int_equal(bench->stats.reserved_bytes.now, bench->fake.used_bytes);
	bench_close(bench);
}

static void with_lanes(void **state)
{
	(void)state;
	run(GSA_LANES_ALWAYS, 4 * GIB, 1);
}

static void with_lanes_and_little_memory(void **state)
{
	(void)state;
	run(GSA_LANES_ALWAYS, 16 * MIB, 2);
}

static void without_lanes(void **state)
{
	(void)state;
	run(GSA_LANES_NEVER, 100 * MIB, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(with_lanes),
	    cmocka_unit_test(with_lanes_and_little_memory),
	    cmocka_unit_test(without_lanes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator cross", tests, NULL, NULL);
}
