/* See lane.h: what is done under the lock of a lane. */
#include "allocator/lane.h"

#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/lend.h"
#include "allocator/live.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

static void drift(struct gsa_drift *figure, int64_t more)
{
	figure->now += more;
	if (figure->now > figure->top)
		figure->top = figure->now;
}

static void count(struct gsa_lane *lane, const struct gsa_block *block, int64_t sign)
{
	drift(&lane->asked, sign * (int64_t)block->asked_bytes);
	drift(&lane->rounded, sign * (int64_t)block->size_bytes);
	drift(&lane->count, sign);
	if (-lane->rounded.now > lane->freed_top)
		lane->freed_top = -lane->rounded.now;
	lane->live_bytes += (uint64_t)(sign * (int64_t)block->size_bytes);
}

/* Settling the books pays. Asked now and then only: where the ALLOCATOR lock is taken it stays so for a while. */
static bool is_due(const struct gsa_lane *lane)
{
	int64_t much = (int64_t)(lane->live_bytes / GSA_LANE_DRIFT_SHARE);

	if ((lane->allocs + lane->frees) % GSA_LANE_LOOKS != 0)
		return false;
	if (much < (int64_t)GSA_LANE_DRIFT_BYTES)
		much = GSA_LANE_DRIFT_BYTES;
	return lane->rounded.now > much || lane->rounded.now < -much || lane->rounded.top > much + lane->rounded.now ||
	       lane->serial_end - lane->serial < GSA_LANE_SERIALS / 2 || lane->node_count < GSA_LANE_NODES / 2 ||
	       lane->node_count > GSA_LANE_NODES * 4;
}

static void settle_if_free(struct gsa *allocator, struct gsa_lane *lane)
{
	if (!gsb_lock_try(&allocator->lock))
		return;
	gsb_lock_acquire(&lane->lock);
	gsa_lend_settle(allocator, lane);
	gsb_lock_release(&lane->lock);
	gsb_lock_release(&allocator->lock);
}

static struct gsa_chunk *chunk_at(struct gsa *allocator, uint64_t address)
{
	return gsa_lane_lent(allocator, address)->chunk;
}

static struct gsa_block *take(struct gsa *allocator, struct gsa_lane *lane, const struct gsa_want *want)
{
	struct gsa_block *block = gsa_bins_fit(&lane->bins, want->size_bytes), *rear;
	struct gsa_chunk *chunk;

	if (block == NULL || lane->serial == lane->serial_end ||
	    (block->size_bytes > want->size_bytes && lane->node_count == 0))
		return NULL;
	chunk = chunk_at(allocator, block->address);
	gsa_bins_remove(&lane->bins, block);
	if (block->size_bytes > want->size_bytes) {
		rear = lane->nodes;
		lane->nodes = rear->bin_next;
		lane->node_count--;
		gsa_chunk_cut(chunk, block, rear, want->size_bytes);
		gsa_bins_insert(&lane->bins, rear);
	}
	gsa_live_begin(block, want->request, gsa_live_time(allocator, want->request));
	block->serial = ++lane->serial;
	chunk->live_count++;
	count(lane, block, 1);
	lane->allocs++;
	lane->served++;
	return block;
}

int gsa_lane_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info,
		   struct gsa_note *ret_note)
{
	struct gsa_lane *lane;
	struct gsa_block *block;
	int error = GS_E_NOT_FOUND;
	bool due = false;

	if (atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) == 0 || !gsa_lane_suits(want))
		return error;
	lane = atomic_load_explicit(gsa_lane_slot(allocator, want->request->stream->id), memory_order_acquire);
	if (lane == NULL)
		return error;
	gsb_lock_acquire(&lane->lock);
	if (lane->stream.id == want->request->stream->id) {
		block = take(allocator, lane, want);
		if (block != NULL) {
			error = GS_OK;
			if (ret_info != NULL)
				gsa_live_describe_in(block, lane->segment_bytes, ret_info);
			if (ret_note != NULL)
				*ret_note = gsa_live_note(block);
			due = is_due(lane);
		} else if (gsa_lend_wanted(lane)) {
			error = GS_E_BUSY;
		}
	}
	gsb_lock_release(&lane->lock);
	if (due)
		settle_if_free(allocator, lane);
	return error;
}

/* Takes the free neighbour behind the block, in no bin, into it. */
static void swallow(struct gsa_lane *lane, struct gsa_chunk *chunk, struct gsa_block *block)
{
	struct gsa_block *node = gsa_chunk_join(chunk, block);

	node->bin_next = lane->nodes;
	lane->nodes = node;
	lane->node_count++;
}

static void give(struct gsa_lane *lane, struct gsa_chunk *chunk, struct gsa_block *block)
{
	struct gsa_block *front = block->prev, *rear = block->next;

	block->state = GSA_BLOCK_PENDING;
	chunk->live_count--;
	if (rear != NULL && rear->state == GSA_BLOCK_PENDING) {
		gsa_bins_remove(&lane->bins, rear);
		swallow(lane, chunk, block);
	}
	if (front != NULL && front->state == GSA_BLOCK_PENDING) {
		gsa_bins_remove(&lane->bins, front);
		gsa_block_inherit(front, block);
		swallow(lane, chunk, front);
		block = front;
	}
	gsa_bins_insert(&lane->bins, block);
}

/* The lane to which the address is lent, locked, and the block there; NULL. */
static struct gsa_lane *lane_at(struct gsa *allocator, uint64_t address, struct gsa_block **ret_block)
{
	struct gsa_lent *lent;
	struct gsa_lane *lane;

	if (atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) == 0)
		return NULL;
	lent = gsa_lane_lent(allocator, address);
	lane = lent != NULL ? atomic_load_explicit(&lent->lane, memory_order_acquire) : NULL;
	if (lane == NULL)
		return NULL;
	gsb_lock_acquire(&lane->lock);
	if (atomic_load_explicit(&lent->lane, memory_order_relaxed) == lane) {
		*ret_block = gsa_chunk_find(lent->chunk, address);
		return lane;
	}
	gsb_lock_release(&lane->lock);
	return NULL;
}

bool gsa_lane_free(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream,
		   struct gsa_block_info *ret_info, struct gsa_note *ret_note)
{
	struct gsa_block *block;
	struct gsa_lane *lane = stream != NULL ? lane_at(allocator, address, &block) : NULL;
	bool freed = false, due = false;

	if (lane == NULL)
		return false;
	if (block->state == GSA_BLOCK_LIVE && block->address == address && lane->stream.id == stream->id) {
		if (ret_info != NULL)
			gsa_live_describe_in(block, lane->segment_bytes, ret_info);
		if (ret_note != NULL)
			*ret_note = gsa_live_note(block);
		count(lane, block, -1);
		lane->frees++;
		give(lane, chunk_at(allocator, address), block);
		due = is_due(lane);
		freed = true;
	}
	gsb_lock_release(&lane->lock);
	if (due)
		settle_if_free(allocator, lane);
	return freed;
}

int gsa_lane_find(struct gsa *allocator, uint64_t address, bool *ret_live, struct gsa_block_info *ret_info)
{
	struct gsa_block *block;
	struct gsa_lane *lane = lane_at(allocator, address, &block);

	if (lane == NULL)
		return GS_E_NOT_FOUND;
	*ret_live = block->state == GSA_BLOCK_LIVE;
	if (*ret_live)
		gsa_live_describe_in(block, lane->segment_bytes, ret_info);
	gsb_lock_release(&lane->lock);
	return GS_OK;
}
