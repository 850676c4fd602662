/* See plain.h. */
#include "allocator/plain.h"

#include <stdatomic.h>

#include "allocator/aside.h"
#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/live.h"
#include "allocator/segment.h"
#include "allocator/share.h"
#include "shim/base/err.h"

/* Makes the driver's allocation a segment with one live block. ALLOCATOR lock held. */
static int adopt(struct gsa *allocator, const struct gsa_request *request, const struct gsa_segment *plain,
		 struct gsa_block_info *ret_info)
{
	struct gsa_segment *segment = gsb_slab_take(&allocator->segment_slab);
	struct gsa_block *block = gsb_slab_take(&allocator->block_slab);
	int error = GS_E_NO_HOST_MEMORY;

	if (segment == NULL || block == NULL)
		goto give_nodes;
	error = gsa_map_insert(&allocator->segments, &allocator->map_slabs, plain->address, segment);
	if (error != GS_OK)
		goto give_nodes;
	*segment = *plain;
	if (plain->exact)
		atomic_store_explicit(&allocator->exact_ever, true, memory_order_relaxed);
	segment->first = block;
	block->address = plain->address;
	block->size_bytes = plain->mapped_bytes;
	block->segment = segment;
	gsa_live_enter(allocator, block, request, ret_info);
	allocator->stats.grows++;
	return GS_OK;

give_nodes:
	if (block != NULL)
		gsb_slab_give(&allocator->block_slab, block);
	if (segment != NULL)
		gsb_slab_give(&allocator->segment_slab, segment);
	return error;
}

static int grow(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	uint64_t size_bytes = want->size_bytes;
	struct gsa_segment plain = {.kind = GSA_SEGMENT_PLAIN,
				    .pool = GSA_POOL_PLAIN,
				    .mapped_bytes = size_bytes,
				    .owner = want->request->owner,
				    .exact = want->request->plain};
	int error = GS_OK;

	gsa_acquire(allocator);
	if (gsa_segment_over_limit(allocator, size_bytes))
		error = GS_E_NO_MEMORY;
	else
		allocator->incoming_bytes += size_bytes;
	gsb_lock_release(&allocator->lock);
	if (error != GS_OK)
		return error;
	error = allocator->ops.plain_alloc(allocator->device, size_bytes, &plain.address);
	gsa_acquire(allocator);
	allocator->incoming_bytes -= size_bytes;
	if (error != GS_OK) {
		gsb_lock_release(&allocator->lock);
		return error;
	}
	error = adopt(allocator, want->request, &plain, ret_info);
	gsb_lock_release(&allocator->lock);
	if (error != GS_OK)
		allocator->ops.plain_free(allocator->device, plain.address);
	else
		gsa_segment_tell(allocator, true, plain.address, size_bytes);
	return error;
}

int gsa_plain_grow(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int entered, error;

	if (want->request->lasting)
		return GS_E_FORBIDDEN;
	entered = gsa_plain_enter(&allocator->ops);
	error = grow(allocator, want, ret_info);
	gsa_plain_leave(&allocator->ops, entered);
	return error;
}

void gsa_plain_forget(struct gsa *allocator, struct gsa_block *block)
{
	gsa_map_remove(&allocator->segments, &allocator->map_slabs, block->address);
	gsb_slab_give(&allocator->segment_slab, block->segment);
	gsb_slab_give(&allocator->block_slab, block);
	allocator->stats.trims++;
}

/* The next to give back; NULL. ALLOCATOR lock held. */
static struct gsa_block *spare(struct gsa *allocator, uint64_t keep_bytes)
{
	return gsa_held(allocator)->stats.idle_bytes.now > keep_bytes ? gsa_bins_largest(&allocator->idle[GSA_POOL_PLAIN]) : NULL;
}

static bool spares(struct gsa *allocator, uint64_t keep_bytes)
{
	bool any;

	gsa_acquire(allocator);
	any = spare(allocator, keep_bytes) != NULL;
	gsb_lock_release(&allocator->lock);
	return any;
}

static uint64_t trim_once(struct gsa *allocator, uint64_t keep_bytes)
{
	struct gsa_block *block;
	uint64_t address = 0;
	uint64_t size_bytes = 0;

	gsa_acquire(allocator);
	block = spare(allocator, keep_bytes);
	if (block != NULL) {
		address = block->address;
		size_bytes = block->size_bytes;
		gsa_block_leave(allocator, block);
		gsa_plain_forget(allocator, block);
	}
	gsb_lock_release(&allocator->lock);
	if (size_bytes > 0) {
		allocator->ops.plain_free(allocator->device, address);
		gsa_segment_tell(allocator, false, address, size_bytes);
	}
	return size_bytes;
}

uint64_t gsa_plain_trim(struct gsa *allocator, uint64_t keep_bytes, bool wait)
{
	uint64_t given_bytes = 0;
	uint64_t bytes;
	int entered;

	if (!spares(allocator, keep_bytes) || (!gsa_share_all_done(allocator, wait) && !wait))
		return 0;
	do {
		entered = gsa_plain_enter(&allocator->ops);
		bytes = trim_once(allocator, keep_bytes);
		gsa_plain_leave(&allocator->ops, entered);
		given_bytes += bytes;
	} while (bytes > 0);
	return given_bytes;
}

void gsa_plain_fini(struct gsa *allocator)
{
	struct gsa_segment *segment;

	for (uint64_t at = 0; (segment = gsa_map_ceiling(&allocator->segments, at)) != NULL;
	     at = segment->address + GSA_MAP_UNIT_BYTES)
		if (segment->kind == GSA_SEGMENT_PLAIN)
			allocator->ops.plain_free(allocator->device, segment->address);
}
