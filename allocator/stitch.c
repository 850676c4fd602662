/* See stitch.h. How segments are made: stitch_make.c. */
#include "allocator/aside.h"
#include "allocator/stitch_parts.h"

#include "allocator/addr_map.h"
#include "allocator/arena.h"
#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/fit.h"
#include "allocator/live.h"
#include "allocator/share.h"
#include "allocator/starts.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

/* What free memory could be stitched together. */
struct supply {
	uint64_t bytes;
	unsigned handles;
};

void gsa_stitch_walk_run(struct gsa *allocator, const struct gsa_block *first, const struct gsa_tag *tag,
			 gsa_stitch_add *add, void *user)
{
	uint64_t end = gsa_block_end(first) + gsa_fit_after(first, tag);
	struct gsa_handle *handle = gsa_map_ceiling(&allocator->handles, first->address);

	while (handle != NULL && handle->address + handle->size_bytes <= end &&
	       (handle->in_place || add(user, handle)))
		handle = gsa_map_ceiling(&allocator->handles, handle->address + handle->size_bytes);
}

/* Every run of memory that the request may have, by the size of its first block. */
static void walk_bins(struct gsa *allocator, const struct gsa_bins *bins, const struct gsa_tag *tag,
		      gsa_stitch_add *add, void *user)
{
	for (struct gsa_block *block = gsa_bins_from(bins, 0); block != NULL; block = gsa_bins_next(bins, block))
		if (gsa_fit_before(block, tag) == 0)
			gsa_stitch_walk_run(allocator, block, tag, add, user);
}

static bool count_handle(void *user, struct gsa_handle *handle)
{
	struct supply *supply = user;

	supply->bytes += handle->size_bytes;
	supply->handles++;
	return true;
}

uint64_t gsa_stitch_needed(const struct gsa *allocator, const struct gsa_want *want)
{
	return gsa_round_up(want->size_bytes, allocator->options.granularity_bytes);
}

/* All that the request cannot have. */
static uint64_t used_bytes(const struct gsa *allocator, const struct gsa_tag *tag)
{
	const struct gsa_stats *stats = &allocator->stats;

	return stats->rounded_bytes.now + stats->pending_bytes.now - (tag != NULL ? tag->bytes : 0);
}

/* New memory pays for stitching of as much; beyond that, only where much is free, for a small part of the time. */
static bool affordable(struct gsa *allocator, const struct gsa_tag *tag, unsigned handles)
{
	uint64_t used = used_bytes(allocator, tag);
	uint64_t run_ns;

	if (allocator->stitched_handles + handles <= allocator->made_handles * GSA_STITCH_SHARE)
		return true;
	if (allocator->stats.reserved_bytes.now - used < used / GSA_IDLE_SHARE)
		return false;
	run_ns = allocator->ops.now_ns(allocator->device) - allocator->start_ns;
	return (allocator->stitched_handles + handles) * GSA_STITCH_NS < run_ns / GSA_STITCH_TIME_SHARE;
}

/* What would be held above the most that was ever used, with new memory for the request. */
static uint64_t waste_bytes(const struct gsa *allocator, const struct gsa_want *want, const struct gsa_tag *tag,
			    uint64_t new_bytes)
{
	uint64_t held_bytes = allocator->stats.reserved_bytes.now + new_bytes;
	uint64_t most_bytes = used_bytes(allocator, tag) + want->size_bytes;

	if (most_bytes < allocator->stats.rounded_bytes.peak)
		most_bytes = allocator->stats.rounded_bytes.peak;
	return held_bytes > most_bytes ? held_bytes - most_bytes : 0;
}

bool gsa_stitch_pays(struct gsa *allocator, const struct gsa_want *want, uint64_t new_bytes, uint64_t *ret_lack_bytes)
{
	const struct gsa_tag *tag = gsa_fit_tag(allocator, want->request);
	uint64_t need_bytes = gsa_stitch_needed(allocator, want);
	struct supply supply = {0};
	uint64_t lack_bytes;

	if (!allocator->options.expandable || want->pool != GSA_POOL_LARGE)
		return false;
	if (waste_bytes(allocator, want, tag, new_bytes) <=
	    (allocator->stats.reserved_bytes.now + new_bytes) / GSA_WASTE_SHARE)
		return false;
	walk_bins(allocator, &allocator->idle[GSA_POOL_LARGE], tag, count_handle, &supply);
	if (tag != NULL)
		walk_bins(allocator, &tag->bins[GSA_POOL_LARGE], tag, count_handle, &supply);
	lack_bytes = supply.bytes < need_bytes ? need_bytes - supply.bytes : 0;
	if (lack_bytes + need_bytes / GSA_STITCH_GAIN_SHARE >= new_bytes || supply.handles == 0)
		return false;
	if (supply.bytes > need_bytes)
		supply.handles = (unsigned)(supply.handles * need_bytes / supply.bytes + 1);
	*ret_lack_bytes = lack_bytes;
	return affordable(allocator, tag, supply.handles);
}

/* --- taking and giving back the memory of a segment --------------------------------------------------------------- */

bool gsa_stitch_is_free(struct gsa *allocator, uint64_t address, uint64_t size_bytes,
			const struct gsa_tag *tag)
{
	const struct gsa_block *block = gsa_starts_find(&allocator->starts[GSA_POOL_LARGE], address);
	uint64_t end = address + size_bytes;

	while (block != NULL && block->address < end && gsa_fit_usable(block, tag))
		block = block->next;
	return block == NULL || block->address >= end;
}

/* Two block nodes are reserved. */
static void lend(struct gsa *allocator, uint64_t address, uint64_t size_bytes)
{
	struct gsa_block *block = gsa_starts_find(&allocator->starts[GSA_POOL_LARGE], address);

	if (block->address < address)
		block = gsa_block_cut(allocator, block, address - block->address);
	block = gsa_block_take(allocator, block, size_bytes);
	block->segment->mapped_bytes -= size_bytes;
	block->segment = NULL;
	block->state = GSA_BLOCK_SHADOW;
}

static void lend_runs(struct gsa *allocator, const struct gsa_segment *segment, uint64_t size_bytes)
{
	for (const struct gsa_run *run = segment->runs; size_bytes > 0; run = run->next) {
		uint64_t bytes = run->size_bytes < size_bytes ? run->size_bytes : size_bytes;

		lend(allocator, run->address, bytes);
		size_bytes -= bytes;
	}
}

/* The opposite, for what the block says: its size, its last free and allocation. */
static void take_back(struct gsa *allocator, const struct gsa_block *block, const struct gsa_run *run, uint64_t bytes,
		      struct gsa_tag *tag)
{
	struct gsa_block *home = gsa_starts_find(&allocator->starts[GSA_POOL_LARGE], run->address);
	struct gsa_block was = *home;

	gsb_assert(home->state == GSA_BLOCK_SHADOW && home->address == run->address && home->size_bytes == bytes);
	*home = *block;
	home->address = was.address;
	home->size_bytes = bytes;
	home->prev = was.prev;
	home->next = was.next;
	home->segment = allocator->expandable[GSA_POOL_LARGE];
	home->segment->mapped_bytes += bytes;
	if (home->shared)
		gsa_share_retire(allocator, home);
	else
		gsa_block_settle(allocator, home, tag != NULL ? GSA_BLOCK_PENDING : GSA_BLOCK_IDLE, tag);
}

void gsa_stitch_return(struct gsa *allocator, struct gsa_block *block, struct gsa_tag *tag)
{
	struct gsa_segment *segment = block->segment;
	uint64_t left_bytes = block->size_bytes;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	block->state = GSA_BLOCK_SHADOW;
	segment->mapped_bytes = 0;
	segment->free_serial = block->free_serial;
	for (const struct gsa_run *run = segment->runs; left_bytes > 0; run = run->next) {
		uint64_t bytes = run->size_bytes < left_bytes ? run->size_bytes : left_bytes;

		take_back(allocator, block, run, bytes, tag);
		left_bytes -= bytes;
	}
	block->size_bytes = segment->whole_bytes;
	block->shared = false;
}

struct gsa_block *gsa_stitch_occupy(struct gsa *allocator, struct gsa_segment *segment, uint64_t size_bytes)
{
	lend_runs(allocator, segment, size_bytes);
	segment->mapped_bytes = size_bytes;
	segment->first->size_bytes = size_bytes;
	return segment->first;
}

static bool serves(struct gsa *allocator, const struct gsa_segment *segment, uint64_t size_bytes,
		   const struct gsa_tag *tag)
{
	if (segment->mapped_bytes != 0 || segment->whole_bytes < size_bytes)
		return false;
	for (const struct gsa_run *run = segment->runs; size_bytes > 0; run = run->next) {
		uint64_t bytes = run->size_bytes < size_bytes ? run->size_bytes : size_bytes;

		if (!gsa_stitch_is_free(allocator, run->address, bytes, tag))
			return false;
		size_bytes -= bytes;
	}
	return true;
}

struct gsa_block *gsa_stitch_take(struct gsa *allocator, const struct gsa_want *want)
{
	const struct gsa_tag *tag = gsa_fit_tag(allocator, want->request);
	struct gsa_segment *best = NULL;

	if (want->pool != GSA_POOL_LARGE)
		return NULL;
	for (struct gsa_segment *segment = allocator->stitched; segment != NULL; segment = segment->next_stitched)
		if ((best == NULL || segment->whole_bytes < best->whole_bytes) &&
		    serves(allocator, segment, want->size_bytes, tag))
			best = segment;
	if (best == NULL || gsb_slab_reserve(&allocator->block_slab, 2 * (size_t)best->run_count) != GS_OK)
		return NULL;
	return gsa_stitch_occupy(allocator, best, want->size_bytes);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

void gsa_stitch_forget_runs(struct gsa *allocator, struct gsa_segment *segment)
{
	struct gsa_run *run;

	while ((run = segment->runs) != NULL) {
		segment->runs = run->next;
		gsb_slab_give(&allocator->run_slab, run);
	}
}

void gsa_stitch_forget(struct gsa *allocator, struct gsa_segment *segment)
{
	gsa_stitch_forget_runs(allocator, segment);
	if (segment->first != NULL)
		gsb_slab_give(&allocator->block_slab, segment->first);
	gsb_slab_give(&allocator->segment_slab, segment);
}

/* And gives the addresses back. Only GROW held. */
static void unmap_all(struct gsa *allocator, const struct gsa_segment *segment)
{
	uint64_t at = segment->address;
	int error = GS_OK;

	for (const struct gsa_run *run = segment->runs; run != NULL; run = run->next)
		for (uint64_t home = run->address; home < run->address + run->size_bytes;) {
			const struct gsa_handle *handle = gsa_map_find(&allocator->handles, home);

			if (allocator->ops.unmap(allocator->device, at, handle->size_bytes) != GS_OK &&
			    allocator->ops.unmap(allocator->device, at, handle->size_bytes) != GS_OK)
				error = GS_E_DRIVER;
			at += handle->size_bytes;
			home += handle->size_bytes;
		}
	if (error == GS_OK)
		allocator->ops.unreserve(allocator->device, segment->address, segment->reserved_bytes);
	else
		gsa_arena_refuse(allocator, "unmapping memory", error);
}

bool gsa_stitch_learn(struct gsa *allocator, bool wait)
{
	bool any = false;

	gsa_acquire(allocator);
	for (const struct gsa_segment *segment = gsa_held(allocator)->stitched; segment != NULL;
	     segment = segment->next_stitched)
		any |= segment->mapped_bytes == 0 && !segment->held && segment->free_serial > allocator->done_serial;
	gsb_lock_release(&allocator->lock);
	return any && gsa_share_all_done(allocator, wait);
}

/* What its memory was freed for at home has a fence of its own, which may be done while others still wait. */
static bool all_is_idle(struct gsa *allocator, const struct gsa_segment *segment)
{
	for (const struct gsa_run *run = segment->runs; run != NULL; run = run->next) {
		const struct gsa_block *block = gsa_starts_find(&allocator->starts[GSA_POOL_LARGE], run->address);

		for (; block != NULL && block->address < run->address + run->size_bytes; block = block->next)
			if (block->state != GSA_BLOCK_IDLE)
				return false;
	}
	return true;
}

bool gsa_stitch_can_go(struct gsa *allocator, const struct gsa_segment *segment)
{
	return segment->mapped_bytes == 0 && !segment->held &&
	       (segment->free_serial <= allocator->done_serial || all_is_idle(allocator, segment));
}

void gsa_stitch_drop_unused(struct gsa *allocator)
{
	struct gsa_segment *unused = NULL;
	struct gsa_segment *segment;

	gsa_acquire(allocator);
	for (struct gsa_segment **link = &gsa_held(allocator)->stitched; (segment = *link) != NULL;) {
		if (!gsa_stitch_can_go(allocator, segment)) {
			link = &segment->next_stitched;
			continue;
		}
		*link = segment->next_stitched;
		allocator->stitched_count--;
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		segment->next_stitched = unused;
		unused = segment;
	}
	gsb_lock_release(&allocator->lock);
	while ((segment = unused) != NULL) {
		unused = segment->next_stitched;
		unmap_all(allocator, segment);
		gsa_acquire(allocator);
		gsa_stitch_forget(allocator, segment);
		gsb_lock_release(&allocator->lock);
	}
}

bool gsa_stitch_maps(const struct gsa *allocator, const struct gsa_handle *handle)
{
	for (const struct gsa_segment *segment = allocator->stitched; segment != NULL; segment = segment->next_stitched)
		for (const struct gsa_run *run = segment->runs; run != NULL; run = run->next)
			if (handle->address - run->address < run->size_bytes)
				return true;
	return false;
}

void gsa_stitch_fini(struct gsa *allocator)
{
	for (const struct gsa_segment *segment = allocator->stitched; segment != NULL; segment = segment->next_stitched)
		unmap_all(allocator, segment);
}
