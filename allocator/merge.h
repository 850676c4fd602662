/* How free blocks are merged and cut, in line: what allocating and freeing come to when nothing is set aside. For block.c, which has
 * the rest, and for the paths of these two. ALLOCATOR lock held.
 *
 * The first block of a segment stays the same node (block.h). Otherwise the front of a free block is a new one when it is cut off,
 * so that the rest stays where it is in its queue. */
#ifndef GSA_MERGE_H
#define GSA_MERGE_H

#include <string.h>

#include "allocator/block.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "shim/base/assert.h"

/* Idle memory that was used and freed on the tag's stream before. What was only freed there is somebody else's: it would
 * be kept from them by whatever is pending on that stream now. */
static inline bool gsa_merge_returns_to(const struct gsa_block *idle, const struct gsa_tag *tag)
{
	return idle->state == GSA_BLOCK_IDLE && idle->freed_on != 0 && tag != NULL && idle->freed_on == tag->stream.id &&
	       idle->stream_id == tag->stream.id;
}

/* Whether the neighbour becomes part of a block that is about to be entered. */
static inline bool gsa_merge_joins(const struct gsa_block *block, const struct gsa_block *other)
{
	return other != NULL && other->segment == block->segment &&
	       ((other->state == block->state && other->tag == block->tag) || gsa_merge_returns_to(other, block->tag));
}

/* Both in no bin and no queue; rear follows front. */
static inline void gsa_merge_two(struct gsa *allocator, struct gsa_starts *starts, struct gsa_block *front, struct gsa_block *rear)
{
	gsb_debug_assert(front->next == rear && gsa_block_end(front) == rear->address);
	if (rear->free_serial > front->free_serial) {
		front->free_serial = rear->free_serial;
		front->freed_on = rear->freed_on;
		gsa_block_inherit(front, rear);
	}
	gsa_starts_drop(starts, rear);
	front->size_bytes += rear->size_bytes;
	front->next = rear->next;
	if (rear->next != NULL)
		rear->next->prev = front;
	gsb_slab_give(&allocator->block_slab, rear);
}

/* A neighbour becomes part of a block that goes into these bins, as which it is counted from now on. */
static inline void gsa_merge_leave(struct gsa *allocator, struct gsa_bins *bins, const struct gsa_block *block,
				   struct gsa_block *other)
{
	if (__builtin_expect(other->state != block->state, 0)) {
		gsa_block_unlist(allocator, other);
		gsa_gauge_move(gsa_stats_of_free(allocator, other->state), false, other->size_bytes);
		gsa_gauge_move(gsa_stats_of_free(allocator, block->state), true, other->size_bytes);
		return;
	}
	gsa_bins_remove(bins, other);
	if (block->tag != NULL)
		gsa_tag_pull(block->tag, other);
}

/* In the books, in no bin and no queue -> entered, merged with neighbours that are alike. */
static inline __attribute__((always_inline)) struct gsa_block *gsa_merge_enter(struct gsa *allocator, struct gsa_block *block)
{
	struct gsa_starts *starts = &allocator->starts[gsa_block_pool(allocator, block)];
	struct gsa_bins *bins = gsa_block_bins(allocator, block);
	enum gsa_block_state state = block->state;
	struct gsa_tag *tag = block->tag;

	for (struct gsa_block *rear; gsa_merge_joins(block, rear = block->next);) {
		gsa_merge_leave(allocator, bins, block, rear);
		gsa_merge_two(allocator, starts, block, rear);
	}
	for (struct gsa_block *front; gsa_merge_joins(block, front = block->prev); block = front) {
		gsa_merge_leave(allocator, bins, block, front);
		gsa_merge_two(allocator, starts, front, block);
		front->state = state;
		front->tag = tag;
	}
	gsa_bins_insert(bins, block);
	if (tag != NULL)
		gsa_tag_push(tag, block);
	return block;
}

/* LIVE, or set aside, and counted as pending -> PENDING under the tag. */
static inline void gsa_merge_pend(struct gsa *allocator, struct gsa_block *block, struct gsa_tag *tag)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	block->freed_on = tag->stream.id;
	block->state = GSA_BLOCK_PENDING;
	block->tag = tag;
	gsa_merge_enter(allocator, block);
}

/* Takes the front of an entered free block out of its bins, and its queue; the rest is in its place. The books still count
 * it, and no allocation is told of it. Takes one node. */
static inline struct gsa_block *gsa_merge_take_front(struct gsa *allocator, struct gsa_bins *bins, struct gsa_block *block,
						     uint64_t size_bytes)
{
	struct gsa_starts *starts = &allocator->starts[gsa_block_pool(allocator, block)];
	struct gsa_block *before = block->prev, *front;

	gsb_debug_assert(gsb_lock_held(&allocator->lock) && size_bytes < block->size_bytes);
	if (__builtin_expect(before == NULL || before->segment != block->segment, 0))
		return gsa_block_take_first(allocator, block, size_bytes);
	front = gsb_slab_take_dirty(&allocator->block_slab);
	gsb_assert(front != NULL);
	memcpy(front, block, offsetof(struct gsa_block, bin_prev));
	front->free_serial = block->free_serial;
	front->freed_on = block->freed_on;
	front->size_bytes = size_bytes;
	front->next = block;
	front->tag = NULL;
	before->next = front;
	gsa_starts_replace(starts, block, front);
	block->prev = front;
	block->address += size_bytes;
	block->size_bytes -= size_bytes;
	gsa_starts_add(starts, block);
	gsa_bins_resized(bins, block);
	if (block->tag != NULL)
		block->tag->bytes -= size_bytes;
	return front;
}

#endif
