/* Walks everything and asserts every equation of types.h. */
#include "allocator/aside.h"
#include "allocator/bins.h"
#include "allocator/lend.h"
#include "allocator/starts.h"
#include "allocator/types.h"
#include "shim/base/assert.h"

struct totals {
	uint64_t asked_bytes;
	uint64_t asked_by_bytes[GSA_ORIGIN_COUNT];
	uint64_t state_bytes[GSA_BLOCK_STATE_COUNT];
	uint64_t state_count[GSA_BLOCK_STATE_COUNT];
	uint64_t live_legacy_bytes;
	uint64_t pool_bytes[GSA_ARENA_POOLS]; /* mapped_bytes of segments */
	uint64_t mapped_bytes;                /* of all segments */
	uint64_t lent_bytes;                  /* to stitched segments */
	uint64_t lent_free_bytes;             /* in lanes, or on the way to one */
	enum gsa_pool pool;                   /* being walked */
};

static bool in_bins(const struct gsa_bins *bins, const struct gsa_block *block)
{
	const struct gsa_block *other = gsa_bins_from(bins, block->size_bytes);

	while (other != NULL && other != block)
		other = other->bin_next;
	return other == block;
}

/* Lists are linked both ways and the bitmaps tell which are empty. */
static uint64_t bins_count(const struct gsa_bins *bins)
{
	uint64_t count = 0;

	for (unsigned bin = 0; bin < GSA_BIN_COUNT; bin++) {
		const struct gsa_block *before = NULL;

		gsb_assert((bins->used[bin / 64] != 0) == (bins->words >> bin / 64 & 1));
		gsb_assert((bins->first[bin] != NULL) == (bins->used[bin / 64] >> bin % 64 & 1));
		for (const struct gsa_block *block = bins->first[bin]; block != NULL;
		     before = block, block = block->bin_next, count++)
			gsb_assert(block->bin_prev == before && block->bin == bin &&
				   gsa_bins_place(block->size_bytes) == bin);
	}
	return count;
}

static void check_block(struct gsa *allocator, const struct gsa_block *block, struct totals *totals)
{
	gsb_assert(block->size_bytes > 0);
	gsb_assert((block->segment == NULL) == (block->state == GSA_BLOCK_UNMAPPED || block->state == GSA_BLOCK_SHADOW));
	gsb_assert((block->tag != NULL) == (block->state == GSA_BLOCK_PENDING));
	gsb_assert(block->free_serial <= allocator->free_serial);
	totals->state_bytes[block->state] += block->size_bytes;
	totals->state_count[block->state] += !block->retired;
	switch (block->state) {
	case GSA_BLOCK_LIVE:
		gsb_assert((block->asked_bytes > 0) != block->retired && block->asked_bytes <= block->size_bytes);
		totals->asked_bytes += block->asked_bytes;
		totals->asked_by_bytes[block->origin] += block->asked_bytes;
		totals->live_legacy_bytes += block->origin == GSA_ORIGIN_LEGACY ? block->size_bytes : 0;
		break;
	case GSA_BLOCK_PENDING:
		gsb_assert(in_bins(&block->tag->bins[block->segment->pool], block));
		break;
	case GSA_BLOCK_IDLE:
		gsb_assert(in_bins(&allocator->idle[block->segment->pool], block));
		break;
	case GSA_BLOCK_UNMAPPED:
		gsb_assert(in_bins(&allocator->holes[totals->pool], block));
		break;
	case GSA_BLOCK_SHADOW:
		gsb_assert(totals->pool == GSA_POOL_LARGE);
		break;
	case GSA_BLOCK_LENT:
		gsb_assert(totals->pool == GSA_POOL_SMALL);
		break;
	case GSA_BLOCK_ASIDE:
	case GSA_BLOCK_STATE_COUNT:
		gsb_assert(!"a state");
		break;
	}
}

/* Returns the address at which the chain ends. */
static uint64_t check_pool(struct gsa *allocator, enum gsa_pool pool, uint64_t at, struct totals *totals)
{
	uint64_t unit_bytes = allocator->options.granularity_bytes;
	const struct gsa_block *before = NULL;

	totals->pool = pool;
	for (const struct gsa_block *block = allocator->first[pool]; block != NULL; block = block->next) {
		gsb_assert(block->address == at && block->prev == before);
		gsb_assert(gsa_starts_find(&allocator->starts[pool], at) == block);
		gsb_assert(gsa_starts_find(&allocator->starts[pool], gsa_block_end(block) - 1) == block);
		gsb_assert(block->address % GSA_ROUND_BYTES == 0 && block->size_bytes % GSA_ROUND_BYTES == 0);
		if (before != NULL && before->segment == block->segment && before->state == block->state)
			gsb_assert(block->state == GSA_BLOCK_LIVE || block->state == GSA_BLOCK_SHADOW ||
				   block->state == GSA_BLOCK_LENT || before->tag != block->tag);
		if (block->state == GSA_BLOCK_UNMAPPED)
			gsb_assert(at % unit_bytes == 0 && block->size_bytes % unit_bytes == 0);
		check_block(allocator, block, totals);
		at += block->size_bytes;
		before = block;
	}
	return at;
}

static void check_arena(struct gsa *allocator, struct totals *totals)
{
	uint64_t at = allocator->arena_address;

	if (at == 0)
		return;
	at = check_pool(allocator, GSA_POOL_LARGE, at, totals);
	gsb_assert(at == allocator->small_address);
	at = check_pool(allocator, GSA_POOL_SMALL, at, totals);
	gsb_assert(at == allocator->arena_address + allocator->options.arena_bytes);
}

/* Handles lie exactly where blocks are mapped: their sum is that of the blocks, and none is under a hole. */
static void check_handles(struct gsa *allocator)
{
	const struct gsa_handle *handle;
	uint64_t bytes[GSA_ARENA_POOLS] = {0};
	uint64_t at = 0;

	for (; (handle = gsa_map_ceiling(&allocator->handles, at)) != NULL; at = handle->address + handle->size_bytes) {
		gsb_assert(handle->address >= at);
		bytes[handle->address < allocator->small_address ? GSA_POOL_LARGE : GSA_POOL_SMALL] += handle->size_bytes;
	}
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++) {
		gsb_assert(bytes[pool] == allocator->mapped_bytes[pool]);
		for (const struct gsa_block *block = allocator->first[pool]; block != NULL; block = block->next) {
			handle = gsa_map_ceiling(&allocator->handles, block->address);
			gsb_assert(block->state != GSA_BLOCK_UNMAPPED || handle == NULL ||
				   handle->address >= gsa_block_end(block));
		}
	}
}

/* Every run is whole handles. While a block lives in the segment, that is what its runs lend. */
static void check_stitched(struct gsa *allocator, const struct gsa_segment *segment, struct totals *totals)
{
	uint64_t left_bytes = segment->mapped_bytes;
	uint64_t whole_bytes = 0;

	gsb_assert(segment->first->segment == segment && segment->first->next == NULL);
	gsb_assert((segment->mapped_bytes != 0) == (segment->first->state == GSA_BLOCK_LIVE));
	gsb_assert(segment->mapped_bytes == 0 || segment->mapped_bytes == segment->first->size_bytes);
	for (const struct gsa_run *run = segment->runs; run != NULL; run = run->next) {
		const struct gsa_block *home = gsa_starts_find(&allocator->starts[GSA_POOL_LARGE], run->address);
		uint64_t bytes = run->size_bytes < left_bytes ? run->size_bytes : left_bytes;
		uint64_t at = run->address;

		while (at < run->address + run->size_bytes)
			at += ((struct gsa_handle *)gsa_map_find(&allocator->handles, at))->size_bytes;
		gsb_assert(at == run->address + run->size_bytes);
		if (bytes > 0)
			gsb_assert(home->state == GSA_BLOCK_SHADOW && home->address == run->address &&
				   home->size_bytes == bytes);
		left_bytes -= bytes;
		whole_bytes += run->size_bytes;
		totals->lent_bytes += bytes;
	}
	gsb_assert(left_bytes == 0 && whole_bytes == segment->whole_bytes && whole_bytes <= segment->reserved_bytes);
	if (segment->mapped_bytes != 0)
		check_block(allocator, segment->first, totals);
	totals->pool_bytes[segment->pool] += segment->mapped_bytes;
}

static void check_segments(struct gsa *allocator, struct totals *totals)
{
	const struct gsa_segment *segment;

	for (uint64_t at = 0; (segment = gsa_map_ceiling(&allocator->segments, at)) != NULL;
	     at = segment->address + GSA_MAP_UNIT_BYTES) {
		uint64_t bytes = 0;

		gsb_assert(segment->first->address == segment->address);
		totals->mapped_bytes += segment->mapped_bytes;
		if (segment->kind == GSA_SEGMENT_PLAIN) {
			gsb_assert(segment->first->segment == segment && segment->first->next == NULL);
			gsb_assert(segment->first->size_bytes == segment->mapped_bytes);
			gsb_assert(!segment->exact || segment->first->state == GSA_BLOCK_LIVE);
			check_block(allocator, segment->first, totals);
			continue;
		}
		if (segment->kind == GSA_SEGMENT_STITCHED) {
			check_stitched(allocator, segment, totals);
			continue;
		}
		for (const struct gsa_block *block = segment->first; block != NULL; block = block->next)
			bytes += block->segment == segment ? block->size_bytes : 0;
		gsb_assert(bytes == segment->mapped_bytes);
		totals->pool_bytes[segment->pool] += segment->mapped_bytes;
	}
}

static uint64_t check_tags(struct gsa *allocator, uint64_t lent_free_bytes)
{
	uint64_t count = 0;
	uint64_t binned = 0;
	uint64_t pending_bytes = 0;
	size_t tag_count = 0;
	bool last_seen = allocator->last_tag == NULL;

	gsb_assert(allocator->streamless.stream.id == 0 && allocator->streamless.prev == NULL);
	for (const struct gsa_tag *tag = &allocator->streamless; tag != NULL; tag = tag->next) {
		const struct gsa_block *older = NULL;
		uint64_t bytes = 0;
		unsigned fence_count = 0;

		last_seen |= tag == allocator->last_tag;
		gsb_assert(tag->next == NULL || tag->next->prev == tag);
		gsb_assert(tag == &allocator->streamless || tag->bytes > 0 || tag->fences != NULL || tag->pins > 0);
		for (const struct gsa_block *block = tag->oldest; block != NULL; block = block->queue_next) {
			gsb_assert(block->tag == tag && block->queue_prev == older);
			gsb_assert(older == NULL || older->free_serial <= block->free_serial);
			bytes += block->size_bytes;
			count++;
			older = block;
		}
		gsb_assert(tag->newest == older && tag->bytes == bytes);
		for (enum gsa_pool pool = 0; pool < GSA_POOL_COUNT; pool++)
			binned += bins_count(&tag->bins[pool]);
		for (const struct gsa_fence *fence = tag->fences; fence != NULL; fence = fence->next) {
			gsb_assert(fence->tag == tag && fence->cover <= allocator->free_serial);
			fence_count++;
		}
		gsb_assert(tag->fence_count == fence_count);
		pending_bytes += bytes;
		tag_count += tag != &allocator->streamless;
	}
	gsb_assert(last_seen);
	gsb_assert(tag_count == allocator->tag_slab.total_count - allocator->tag_slab.free_count);
	gsb_assert(pending_bytes + lent_free_bytes == allocator->stats.pending_bytes.now);
	gsb_assert(binned == count);
	return count;
}

static void check_stats(const struct gsa_stats *stats, const struct totals *totals)
{
	gsb_assert(stats->live_count.now == totals->state_count[GSA_BLOCK_LIVE]);
	gsb_assert(stats->live_count.now == stats->allocs - stats->frees);
	gsb_assert(stats->allocated_bytes.now == totals->asked_bytes);
	gsb_assert(stats->allocated_legacy_bytes.now == totals->asked_by_bytes[GSA_ORIGIN_LEGACY]);
	gsb_assert(stats->allocated_async_bytes.now == totals->asked_by_bytes[GSA_ORIGIN_ASYNC]);
	gsb_assert(stats->rounded_bytes.now == totals->state_bytes[GSA_BLOCK_LIVE]);
	gsb_assert(stats->pending_bytes.now == totals->state_bytes[GSA_BLOCK_PENDING]);
	gsb_assert(stats->idle_bytes.now == totals->state_bytes[GSA_BLOCK_IDLE]);
	gsb_assert(stats->reserved_bytes.now ==
		   stats->rounded_bytes.now + stats->pending_bytes.now + stats->idle_bytes.now);
	gsb_assert(stats->reserved_bytes.now == totals->mapped_bytes);
	gsb_assert(stats->pool_bytes.now == totals->mapped_bytes - totals->live_legacy_bytes);
#define CHECK_PEAK(name, text) gsb_assert(stats->name.now <= stats->name.peak);
	GSA_GAUGES(CHECK_PEAK)
#undef CHECK_PEAK
}

/* Lanes, as if their blocks were the pool's. */
static void add_lanes(struct totals *totals, const struct gsa_lend_totals *lent)
{
	totals->asked_bytes += lent->asked_bytes;
	totals->asked_by_bytes[GSA_ORIGIN_ASYNC] += lent->asked_bytes;
	totals->state_bytes[GSA_BLOCK_LIVE] += lent->live_bytes;
	totals->state_count[GSA_BLOCK_LIVE] += lent->live_count;
	totals->lent_free_bytes = totals->state_bytes[GSA_BLOCK_LENT] - lent->live_bytes;
	totals->state_bytes[GSA_BLOCK_PENDING] += totals->lent_free_bytes;
	gsb_assert(lent->free_bytes <= totals->lent_free_bytes);
}

void gsa_check(struct gsa *allocator)
{
	struct totals totals = {0};
	struct gsa_lend_totals lent;
	uint64_t idle_count = 0;
	uint64_t hole_count = 0;

	gsb_lock_acquire(&allocator->grow_lock);
	gsb_lock_acquire(&allocator->lock);
	gsa_aside_check(allocator);
	gsa_aside_empty_all(allocator);
	gsa_lend_check(allocator, &lent); /* before the pools: it may give them chunks */
	check_arena(allocator, &totals);
	add_lanes(&totals, &lent);
	check_handles(allocator);
	check_segments(allocator, &totals);
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++) {
		gsb_assert(totals.pool_bytes[pool] == allocator->mapped_bytes[pool]);
		hole_count += bins_count(&allocator->holes[pool]);
	}
	for (enum gsa_pool pool = 0; pool < GSA_POOL_COUNT; pool++)
		idle_count += bins_count(&allocator->idle[pool]);
	gsb_assert(check_tags(allocator, totals.lent_free_bytes) == totals.state_count[GSA_BLOCK_PENDING]);
	gsb_assert(idle_count == totals.state_count[GSA_BLOCK_IDLE]);
	gsb_assert(totals.lent_bytes == totals.state_bytes[GSA_BLOCK_SHADOW]);
	gsb_assert(hole_count == totals.state_count[GSA_BLOCK_UNMAPPED]);
	check_stats(&allocator->stats, &totals);
	gsb_lock_release(&allocator->lock);
	gsb_lock_release(&allocator->grow_lock);
}
