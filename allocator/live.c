/* See live.h. */
#include "allocator/live.h"

#include "allocator/block.h"
#include "allocator/fit.h"
#include "allocator/lend.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

int gsa_live_reserve(struct gsa *allocator)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	return gsb_slab_reserve(&allocator->block_slab, 1);
}

void gsa_live_describe_in(const struct gsa_block *block, uint64_t segment_bytes, struct gsa_block_info *ret_info)
{
	*ret_info = (struct gsa_block_info){
	    .address = block->address,
	    .size_bytes = block->asked_bytes,
	    .reserved_bytes = block->size_bytes,
	    .segment_address = block->segment->address,
	    .segment_bytes = segment_bytes,
	    .owner = block->owner,
	    .pool = block->pool,
	    .serial = block->serial,
	    .time_ns = block->time_ns,
	    .origin = block->origin,
	    .plain = block->segment->kind == GSA_SEGMENT_PLAIN,
	    .exact = block->segment->exact,
	    .shared = block->shared,
	    .stack = block->stack,
	    .thread = block->thread,
	    .stream_id = block->stream_id,
	};
}

void gsa_live_describe(const struct gsa_block *block, struct gsa_block_info *ret_info)
{
	gsa_live_describe_in(block, block->segment->mapped_bytes, ret_info);
}

static void enter(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request)
{
	uint64_t free_bytes;

	gsa_live_begin(block, request, gsa_live_time(allocator, request));
	block->serial = ++allocator->alloc_serial;
	gsa_stats_enter(allocator, block);
	free_bytes = allocator->stats.pending_bytes.now + allocator->stats.idle_bytes.now;
	if (free_bytes < allocator->least_free_bytes)
		allocator->least_free_bytes = free_bytes;
	allocator->stats.allocs++;
}

void gsa_live_enter(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request,
		    struct gsa_block_info *ret_info)
{
	enter(allocator, block, request);
	gsa_live_describe(block, ret_info);
}

void gsa_live_leave(struct gsa *allocator, struct gsa_block *block)
{
	gsa_stats_leave(allocator, block);
	block->free_serial = ++allocator->free_serial;
	block->freed_on = 0;
	allocator->stats.frees++;
}

int gsa_live_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block)
{
	int error = gsa_live_reserve(allocator);
	struct gsa_block *block;

	if (error != GS_OK)
		return error;
	if (__builtin_expect(want->loan != NULL, 0))
		return gsa_lend_take(allocator, want, ret_block);
	block = gsa_fit_take(allocator, want);
	if (block == NULL)
		return GS_E_NOT_FOUND;
	*ret_block = block;
	enter(allocator, block, want->request);
	return GS_OK;
}

int gsa_live_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	struct gsa_block *block;
	int error = gsa_live_take(allocator, want, &block);

	if (error == GS_OK)
		gsa_live_describe(block, ret_info);
	return error;
}

static __attribute__((noinline)) struct gsa_block *block_outside(struct gsa *allocator, uint64_t address)
{
	struct gsa_segment *segment = gsa_map_floor(&allocator->segments, address);

	if (segment != NULL && (segment->kind == GSA_SEGMENT_PLAIN || segment->kind == GSA_SEGMENT_STITCHED) &&
	    address < gsa_block_end(segment->first))
		return segment->first;
	return NULL;
}

/* The block that contains the address, whatever its state; NULL. */
static struct gsa_block *block_at(struct gsa *allocator, uint64_t address)
{
	enum gsa_pool pool = address >= allocator->small_address ? GSA_POOL_SMALL : GSA_POOL_LARGE;
	const struct gsa_starts *starts = &allocator->starts[pool];
	struct gsa_block *block;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	if (__builtin_expect(address - starts->address >= starts->size_bytes, 0))
		return block_outside(allocator, address);
	block = gsa_starts_find(starts, address);
	if (__builtin_expect(block->state != GSA_BLOCK_LENT, 1))
		return block;
	gsa_lend_back(allocator, address);
	return gsa_starts_find(starts, address);
}

struct gsa_block *gsa_live_at(struct gsa *allocator, uint64_t address)
{
	struct gsa_block *block = block_at(allocator, address);

	return block != NULL && block->state == GSA_BLOCK_LIVE && !block->retired ? block : NULL;
}

int gsa_find(struct gsa *allocator, uint64_t address, struct gsa_block_info *ret_block)
{
	struct gsa_block *block;
	bool live;

	if (gsa_lane_find(allocator, address, &live, ret_block) == GS_OK)
		return live ? GS_OK : GS_E_NOT_FOUND;
	gsb_lock_acquire(&allocator->lock);
	block = gsa_live_at(allocator, address);
	if (block != NULL)
		gsa_live_describe(block, ret_block);
	gsb_lock_release(&allocator->lock);
	return block != NULL ? GS_OK : GS_E_NOT_FOUND;
}

bool gsa_holds(struct gsa *allocator, uint64_t address)
{
	struct gsa_block_info info;
	struct gsa_block *block;
	bool holds;

	if (gsa_lane_find(allocator, address, &holds, &info) == GS_OK)
		return true;
	gsb_lock_acquire(&allocator->lock);
	block = block_at(allocator, address);
	holds = block != NULL && block->state != GSA_BLOCK_UNMAPPED;
	gsb_lock_release(&allocator->lock);
	return holds;
}
