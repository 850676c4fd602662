/* See share.h. */
#include "allocator/share.h"

#include "allocator/aside.h"
#include "allocator/block.h"
#include "allocator/evict.h"
#include "allocator/fence.h"
#include "allocator/live.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "allocator/stitch.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

int gsa_share(struct gsa *allocator, uint64_t address)
{
	struct gsa_block *block;

	gsa_acquire(allocator);
	block = gsa_live_at(allocator, address);
	if (block != NULL && block->segment->kind == GSA_SEGMENT_PLAIN)
		block->segment->exact = true;
	else if (block != NULL)
		block->shared = true;
	gsb_lock_release(&allocator->lock);
	return block != NULL ? GS_OK : GS_E_NOT_FOUND;
}

int gsa_hold(struct gsa *allocator, uint64_t address)
{
	struct gsa_block *block;
	struct gsa_handle *handle = NULL;

	gsa_acquire(allocator);
	block = gsa_live_at(allocator, address);
	if (block != NULL && block->segment->kind == GSA_SEGMENT_STITCHED)
		block->segment->held = true;
	else if (block != NULL && block->segment->kind != GSA_SEGMENT_PLAIN)
		handle = gsa_map_floor(&allocator->handles, block->address);
	while (handle != NULL && handle->address < gsa_block_end(block)) {
		handle->in_place = true;
		handle = gsa_map_ceiling(&allocator->handles, handle->address + handle->size_bytes);
	}
	gsb_lock_release(&allocator->lock);
	return block != NULL ? GS_OK : GS_E_NOT_FOUND;
}

static void list_add(struct gsa *allocator, struct gsa_block *block)
{
	block->queue_prev = NULL;
	block->queue_next = allocator->retired;
	if (block->queue_next != NULL)
		block->queue_next->queue_prev = block;
	allocator->retired = block;
}

static void list_remove(struct gsa *allocator, struct gsa_block *block)
{
	if (block->queue_prev != NULL)
		block->queue_prev->queue_next = block->queue_next;
	else
		allocator->retired = block->queue_next;
	if (block->queue_next != NULL)
		block->queue_next->queue_prev = block->queue_prev;
	block->queue_prev = NULL;
	block->queue_next = NULL;
}

void gsa_share_retire(struct gsa *allocator, struct gsa_block *block)
{
	block->state = GSA_BLOCK_LIVE;
	block->shared = true;
	block->retired = true;
	block->asked_bytes = 0;
	block->freed_on = 0; /* idle, and not pending with what is beside it, when it comes back */
	gsa_stats_enter(allocator, block);
	list_add(allocator, block);
}

/* Makes it idle; it may merge with what is beside it. */
static struct gsa_block *come_back(struct gsa *allocator, struct gsa_block *block)
{
	list_remove(allocator, block);
	gsa_stats_leave(allocator, block);
	block->shared = false;
	block->retired = false;
	return gsa_block_settle(allocator, block, GSA_BLOCK_IDLE, NULL);
}

/* Leaves the first size_bytes in the block; the rest is retired likewise. A node must be there. */
static void cut(struct gsa *allocator, enum gsa_pool pool, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take(&allocator->block_slab);

	gsa_stats_leave(allocator, block);
	gsa_block_split(block, rear, size_bytes);
	gsa_starts_add(&allocator->starts[pool], rear);
	gsa_stats_enter(allocator, block);
	gsa_stats_enter(allocator, rear);
	list_add(allocator, rear);
}

/* All memory of the handle is idle, or retired by the time of `cover`. */
static bool is_over(struct gsa *allocator, enum gsa_pool pool, const struct gsa_handle *handle, uint64_t cover)
{
	const struct gsa_block *block = gsa_starts_find(&allocator->starts[pool], handle->address);

	for (; block != NULL && block->address < handle->address + handle->size_bytes; block = block->next)
		if (block->state != GSA_BLOCK_IDLE && !(block->retired && block->free_serial <= cover))
			return false;
	return true;
}

/* The next handle under retired memory that nothing else needs, also one that is mapped in a stitched segment if asked
 * for; NULL. ALLOCATOR lock held, as for those below. */
static struct gsa_handle *find_over(struct gsa *allocator, uint64_t cover, bool stitched, enum gsa_pool *ret_pool)
{
	for (struct gsa_block *block = allocator->retired; block != NULL; block = block->queue_next) {
		struct gsa_handle *handle = gsa_map_floor(&allocator->handles, block->address);

		*ret_pool = block->segment->pool;
		for (; handle != NULL && handle->address < gsa_block_end(block);
		     handle = gsa_map_ceiling(&allocator->handles, handle->address + handle->size_bytes))
			if (is_over(allocator, *ret_pool, handle, cover) &&
			    (stitched || !gsa_stitch_maps(allocator, handle)))
				return handle;
	}
	return NULL;
}

/* One idle block has the handle's memory then, alone or with idle memory beside it. NULL: no nodes. */
static struct gsa_block *gather(struct gsa *allocator, enum gsa_pool pool, const struct gsa_handle *handle)
{
	struct gsa_block *block = gsa_starts_find(&allocator->starts[pool], handle->address);
	uint64_t end = handle->address + handle->size_bytes;

	if (gsb_slab_reserve(&allocator->block_slab, 4) != GS_OK)
		return NULL;
	if (block->retired && block->address < handle->address) {
		cut(allocator, pool, block, handle->address - block->address);
		block = block->next;
	}
	for (;; block = block->next) {
		if (block->retired && gsa_block_end(block) > end)
			cut(allocator, pool, block, end - block->address);
		if (block->retired)
			block = come_back(allocator, block);
		if (gsa_block_end(block) >= end) {
			gsb_debug_assert(block->state == GSA_BLOCK_IDLE && block->address <= handle->address);
			return block;
		}
	}
}

/* GROW and ALLOCATOR held, the latter let go meanwhile. What the driver does not want to unmap stays retired. */
static bool give_back(struct gsa *allocator, enum gsa_pool pool, struct gsa_handle *handle)
{
	struct gsa_block *block = gather(allocator, pool, handle);
	uint64_t address = handle->address;

	if (block == NULL || (block = gsa_evict_detach(allocator, block, handle)) == NULL)
		return false;
	if (gsa_evict_unmap(allocator, block, handle) == GS_OK) {
		allocator->stats.trims++;
		handle->next = NULL;
		gsb_lock_release(&allocator->lock);
		gsa_evict_release(allocator, handle);
		gsa_acquire(allocator);
		return true;
	}
	block = gsa_evict_detach(allocator, gsa_starts_find(&allocator->starts[pool], address), handle);
	if (block != NULL)
		gsa_share_retire(allocator, block);
	return false;
}

/* A stream ended and has not done what it was given: a fence over all may not cover it. ALLOCATOR lock held. */
static bool ended_stream_works(struct gsa *allocator)
{
	const struct gsa_tag *tag = &gsa_held(allocator)->streamless;

	while (tag != NULL && !tag->ending)
		tag = tag->next;
	return tag != NULL;
}

bool gsa_share_all_done(struct gsa *allocator, bool wait)
{
	uint64_t cover = gsa_free_serial(allocator);
	bool done = gsa_fence_all_done(&allocator->ops, allocator->device, wait);

	gsa_acquire(allocator);
	done = done && !ended_stream_works(allocator);
	if (done && cover > allocator->done_serial)
		allocator->done_serial = cover;
	gsb_lock_release(&allocator->lock);
	return done;
}

void gsa_share_sweep(struct gsa *allocator)
{
	struct gsa_handle *handle;
	enum gsa_pool pool;
	uint64_t cover;
	bool over;

	gsa_acquire(allocator);
	cover = allocator->free_serial;
	over = allocator->retired != NULL && find_over(allocator, cover, true, &pool) != NULL;
	gsb_lock_release(&allocator->lock);
	if (!over || !gsa_share_all_done(allocator, false))
		return;
	gsb_lock_acquire(&allocator->grow_lock);
	gsa_stitch_drop_unused(allocator);
	gsa_acquire(allocator);
	while ((handle = find_over(allocator, cover, false, &pool)) != NULL && give_back(allocator, pool, handle))
		;
	gsb_lock_release(&allocator->lock);
	gsb_lock_release(&allocator->grow_lock);
}
