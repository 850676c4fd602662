/* See evict.h. */
#include "allocator/evict.h"

#include "allocator/aside.h"
#include "allocator/block.h"
#include "allocator/segment.h"
#include "allocator/starts.h"
#include "allocator/stitch.h"
#include "shim/base/err.h"

static bool within(const struct gsa_handle *handle, const struct gsa_block *block)
{
	return handle->address >= block->address && handle->address + handle->size_bytes <= gsa_block_end(block);
}

struct gsa_block *gsa_evict_detach(struct gsa *allocator, struct gsa_block *block, const struct gsa_handle *handle)
{
	if (gsb_slab_reserve(&allocator->block_slab, 2) != GS_OK)
		return NULL;
	if (handle->address > block->address)
		block = gsa_block_cut(allocator, block, handle->address - block->address);
	if (handle->size_bytes < block->size_bytes)
		gsa_block_cut(allocator, block, handle->size_bytes);
	gsa_block_leave(allocator, block);
	return block;
}

int gsa_evict_unmap(struct gsa *allocator, struct gsa_block *block, struct gsa_handle *handle)
{
	struct gsa_segment *segment = block->segment;
	uint64_t address = handle->address;
	uint64_t size_bytes = handle->size_bytes;
	int error;

	gsb_debug_assert(gsb_lock_held(&allocator->grow_lock) && gsb_lock_held(&allocator->lock));
	segment->mapped_bytes -= size_bytes;
	allocator->mapped_bytes[segment->pool] -= size_bytes;
	block->segment = NULL;
	block->state = GSA_BLOCK_UNMAPPED;
	gsb_lock_release(&allocator->lock);
	error = allocator->ops.unmap(allocator->device, address, size_bytes);
	if (error == GS_OK)
		gsa_segment_tell(allocator, false, address, size_bytes);
	gsa_acquire(allocator);
	if (error != GS_OK) {
		block->segment = segment;
		segment->mapped_bytes += size_bytes;
		allocator->mapped_bytes[segment->pool] += size_bytes;
		gsa_block_settle(allocator, block, GSA_BLOCK_IDLE, NULL);
		return error;
	}
	gsa_map_remove(&allocator->handles, &allocator->map_slabs, address);
	if (segment->kind == GSA_SEGMENT_FIXED) {
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		gsb_slab_give(&allocator->segment_slab, segment);
	}
	gsa_block_settle(allocator, block, GSA_BLOCK_UNMAPPED, NULL);
	return GS_OK;
}

void gsa_evict_release(struct gsa *allocator, struct gsa_handle *spares)
{
	while (spares != NULL) {
		struct gsa_handle *handle = spares;

		spares = handle->next;
		allocator->ops.release(allocator->device, handle->value);
		gsa_acquire(allocator);
		gsb_slab_give(&gsa_held(allocator)->handle_slab, handle);
		gsb_lock_release(&allocator->lock);
	}
}

/* The last idle handle of the pool below *cursor. ALLOCATOR lock held. */
static struct gsa_handle *find_last(struct gsa *allocator, enum gsa_pool pool, uint64_t *cursor,
				    struct gsa_block **ret_block)
{
	uint64_t end = allocator->starts[pool].address + allocator->starts[pool].size_bytes;
	struct gsa_handle *handle;

	if (end == 0) /* nothing reserved yet */
		return NULL;
	if (*cursor > end)
		*cursor = end;
	while ((handle = gsa_map_floor(&allocator->handles, *cursor - 1)) != NULL &&
	       handle->address >= allocator->starts[pool].address) {
		*cursor = handle->address;
		*ret_block = gsa_starts_find(&allocator->starts[pool], handle->address);
		if ((*ret_block)->state == GSA_BLOCK_IDLE && within(handle, *ret_block) &&
		    !gsa_stitch_maps(allocator, handle))
			return handle;
	}
	return NULL;
}

static bool idle_above(struct gsa *allocator, uint64_t keep_bytes)
{
	bool above;

	gsa_acquire(allocator);
	above = gsa_held(allocator)->stats.idle_bytes.now > keep_bytes;
	gsb_lock_release(&allocator->lock);
	return above;
}

/* Unmaps and releases one handle. Returns its size, 0 when there is none to give or the driver does not want it. GROW lock
 * held. */
static uint64_t trim_held(struct gsa *allocator, enum gsa_pool pool, uint64_t keep_bytes, uint64_t *cursor)
{
	struct gsa_block *block = NULL;
	struct gsa_handle *handle = NULL;
	uint64_t size_bytes = 0;

	if (idle_above(allocator, keep_bytes))
		gsa_stitch_drop_unused(allocator);
	gsa_acquire(allocator);
	if (allocator->stats.idle_bytes.now > keep_bytes)
		handle = find_last(allocator, pool, cursor, &block);
	if (handle != NULL && (block = gsa_evict_detach(allocator, block, handle)) != NULL &&
	    gsa_evict_unmap(allocator, block, handle) == GS_OK) {
		size_bytes = handle->size_bytes;
		handle->next = NULL;
		allocator->stats.trims++;
	}
	gsb_lock_release(&allocator->lock);
	if (size_bytes > 0)
		gsa_evict_release(allocator, handle);
	return size_bytes;
}

static uint64_t trim_once(struct gsa *allocator, enum gsa_pool pool, uint64_t keep_bytes, uint64_t *cursor)
{
	uint64_t size_bytes;

	gsb_lock_acquire(&allocator->grow_lock);
	size_bytes = trim_held(allocator, pool, keep_bytes, cursor);
	gsb_lock_release(&allocator->grow_lock);
	return size_bytes;
}

uint64_t gsa_evict_trim_try(struct gsa *allocator)
{
	uint64_t given_bytes = 0, bytes;

	if (!gsb_lock_try(&allocator->grow_lock))
		return 0;
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++) {
		uint64_t cursor = UINT64_MAX;

		while ((bytes = trim_held(allocator, pool, 0, &cursor)) > 0)
			given_bytes += bytes;
	}
	gsb_lock_release(&allocator->grow_lock);
	return given_bytes;
}

uint64_t gsa_evict_trim(struct gsa *allocator, uint64_t keep_bytes)
{
	uint64_t given_bytes = 0;
	uint64_t bytes;

	if (idle_above(allocator, keep_bytes))
		gsa_stitch_learn(allocator, false);
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++) {
		uint64_t cursor = UINT64_MAX;

		while ((bytes = trim_once(allocator, pool, keep_bytes, &cursor)) > 0)
			given_bytes += bytes;
	}
	return given_bytes;
}
