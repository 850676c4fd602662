/* See arena.h. */
#include "allocator/arena.h"

#include "allocator/aside.h"
#include "allocator/block.h"
#include "allocator/live.h"
#include "allocator/starts.h"
#include "shim/base/err.h"
#include "shim/base/log.h"

void gsa_arena_refuse(struct gsa *allocator, const char *call, int error)
{
	gsb_lock_acquire(&allocator->lock);
	gsa_held(allocator)->plain_only = true;
	gsb_lock_release(&allocator->lock);
	gsb_log(GSB_LOG_INFO, "virtual memory management is refused (%s: %s): caching plain driver allocations instead",
		call, gs_error_text(error));
}

/* Makes the addresses one hole of the pool, and its expandable segment. ALLOCATOR lock held. */
static int pool_open(struct gsa *allocator, enum gsa_pool pool, uint64_t address, uint64_t size_bytes)
{
	unsigned shift = pool == GSA_POOL_LARGE ? GSA_LARGE_UNIT_SHIFT : GSA_SMALL_UNIT_SHIFT;
	struct gsa_block *block = gsb_slab_take(&allocator->block_slab);
	struct gsa_segment *segment = NULL;
	int error = GS_E_NO_HOST_MEMORY;

	if (block == NULL)
		return error;
	error = gsa_starts_init(&allocator->starts[pool], address, size_bytes, shift);
	if (error != GS_OK)
		goto give_block;
	error = GS_E_NO_HOST_MEMORY;
	if (allocator->options.expandable) {
		segment = gsb_slab_take(&allocator->segment_slab);
		if (segment == NULL)
			goto end_starts;
		*segment = (struct gsa_segment){
		    .kind = GSA_SEGMENT_EXPANDABLE, .pool = pool, .address = address, .first = block};
		error = gsa_map_insert(&allocator->segments, &allocator->map_slabs, address, segment);
		if (error != GS_OK)
			goto give_segment;
	}
	block->address = address;
	block->size_bytes = size_bytes;
	gsa_starts_add(&allocator->starts[pool], block);
	gsa_block_settle(allocator, block, GSA_BLOCK_UNMAPPED, NULL);
	allocator->first[pool] = block;
	allocator->expandable[pool] = segment;
	return GS_OK;

give_segment:
	gsb_slab_give(&allocator->segment_slab, segment);
end_starts:
	gsa_starts_fini(&allocator->starts[pool]);
give_block:
	gsb_slab_give(&allocator->block_slab, block);
	return error;
}

/* Undoes pool_open. */
static void pool_close(struct gsa *allocator, enum gsa_pool pool)
{
	struct gsa_segment *segment = allocator->expandable[pool];
	struct gsa_block *block = allocator->first[pool];

	if (segment != NULL) {
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		gsb_slab_give(&allocator->segment_slab, segment);
	}
	gsa_block_leave(allocator, block);
	gsb_slab_give(&allocator->block_slab, block);
	gsa_starts_fini(&allocator->starts[pool]);
	allocator->expandable[pool] = NULL;
	allocator->first[pool] = NULL;
}

int gsa_arena_reserve(struct gsa *allocator)
{
	uint64_t size_bytes = allocator->options.arena_bytes;
	uint64_t small_bytes = gsa_round_up(size_bytes / GSA_SMALL_SHARE, allocator->options.granularity_bytes);
	uint64_t address;
	int error;

	if (allocator->arena_address != 0)
		return GS_OK;
	error = allocator->ops.reserve(allocator->device, size_bytes, &address);
	if (error == GS_E_FORBIDDEN)
		return error;
	if (error != GS_OK) {
		gsa_arena_refuse(allocator, "reserving addresses", error);
		return GS_E_UNSUPPORTED;
	}
	gsa_acquire(allocator);
	allocator->small_address = address + size_bytes - small_bytes;
	error = pool_open(allocator, GSA_POOL_LARGE, address, size_bytes - small_bytes);
	if (error == GS_OK) {
		error = pool_open(allocator, GSA_POOL_SMALL, allocator->small_address, small_bytes);
		if (error != GS_OK)
			pool_close(allocator, GSA_POOL_LARGE);
	}
	if (error == GS_OK)
		allocator->arena_address = address;
	gsb_lock_release(&allocator->lock);
	if (error != GS_OK)
		allocator->ops.unreserve(allocator->device, address, size_bytes);
	return error;
}

void gsa_arena_fini(struct gsa *allocator)
{
	struct gsa_handle *handle;

	if (allocator->arena_address == 0)
		return;
	for (uint64_t at = 0; (handle = gsa_map_ceiling(&allocator->handles, at)) != NULL;
	     at = handle->address + handle->size_bytes)
		if (allocator->ops.unmap(allocator->device, handle->address, handle->size_bytes) == GS_OK)
			allocator->ops.release(allocator->device, handle->value);
	allocator->ops.unreserve(allocator->device, allocator->arena_address, allocator->options.arena_bytes);
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++)
		gsa_starts_fini(&allocator->starts[pool]);
}

bool gsa_reserves(struct gsa *allocator, uint64_t address)
{
	bool reserves;

	gsb_lock_acquire(&allocator->lock);
	reserves = gsa_held(allocator)->arena_address != 0 &&
		   address - allocator->arena_address < allocator->options.arena_bytes;
	for (const struct gsa_segment *segment = allocator->stitched; segment != NULL && !reserves;
	     segment = segment->next_stitched)
		reserves = address - segment->address < segment->reserved_bytes;
	gsb_lock_release(&allocator->lock);
	return reserves;
}

int gsa_access_changed(struct gsa *allocator)
{
	struct gsa_handle *handle;
	struct {
		uint64_t address;
		uint64_t size_bytes;
	} run = {0};
	int error = GS_OK;

	gsb_lock_acquire(&allocator->grow_lock);
	for (uint64_t at = 0; error == GS_OK; at = run.address + run.size_bytes) {
		run.size_bytes = 0;
		while ((handle = gsa_map_ceiling(&allocator->handles, at)) != NULL &&
		       (run.size_bytes == 0 || handle->address == at)) {
			if (run.size_bytes == 0)
				run.address = handle->address;
			run.size_bytes += handle->size_bytes;
			at = run.address + run.size_bytes;
		}
		if (run.size_bytes == 0)
			break;
		error = allocator->ops.set_access(allocator->device, run.address, run.size_bytes);
	}
	for (struct gsa_segment *segment = allocator->stitched; segment != NULL && error == GS_OK;
	     segment = segment->next_stitched)
		error = allocator->ops.set_access(allocator->device, segment->address, segment->whole_bytes);
	gsb_lock_release(&allocator->grow_lock);
	return error;
}

/* The handles of the arena behind [address, end) are added to the spans. */
static size_t add_handles(struct gsa *allocator, uint64_t address, uint64_t end, struct gsa_handle_span *spans,
			  size_t capacity, size_t count)
{
	struct gsa_handle *handle = gsa_map_floor(&allocator->handles, address);

	while (handle != NULL && handle->address < end) {
		if (count < capacity)
			spans[count] = (struct gsa_handle_span){handle->value, handle->size_bytes};
		count++;
		handle = gsa_map_ceiling(&allocator->handles, handle->address + handle->size_bytes);
	}
	return count;
}

/* Those of a stitched block. */
static size_t add_stitched(struct gsa *allocator, const struct gsa_block *block, uint64_t address,
			   struct gsa_handle_span *spans, size_t capacity, uint64_t *ret_offset_bytes)
{
	uint64_t begin = block->address;
	size_t count = 0;

	for (const struct gsa_run *run = block->segment->runs; run != NULL && begin < gsa_block_end(block);
	     begin += run->size_bytes, run = run->next) {
		uint64_t skip_bytes = address > begin ? address - begin : 0;
		uint64_t bytes = gsa_block_end(block) - begin;

		if (skip_bytes >= run->size_bytes)
			continue;
		if (count == 0) {
			const struct gsa_handle *handle = gsa_map_floor(&allocator->handles, run->address + skip_bytes);

			*ret_offset_bytes = run->address + skip_bytes - handle->address;
		}
		count = add_handles(allocator, run->address + skip_bytes,
				    run->address + (bytes < run->size_bytes ? bytes : run->size_bytes), spans, capacity,
				    count);
	}
	return count;
}

size_t gsa_block_handles(struct gsa *allocator, uint64_t address, struct gsa_handle_span *spans, size_t capacity,
			 uint64_t *ret_offset_bytes)
{
	struct gsa_block *block;
	size_t count = 0;

	gsa_acquire(allocator);
	block = gsa_live_at(allocator, address);
	if (block != NULL && block->segment->kind == GSA_SEGMENT_STITCHED) {
		count = add_stitched(allocator, block, address, spans, capacity, ret_offset_bytes);
	} else if (block != NULL && block->segment->kind != GSA_SEGMENT_PLAIN) {
		const struct gsa_handle *handle = gsa_map_floor(&allocator->handles, address);

		*ret_offset_bytes = address - handle->address;
		count = add_handles(allocator, address, gsa_block_end(block), spans, capacity, 0);
	}
	gsb_lock_release(&allocator->lock);
	return count;
}
