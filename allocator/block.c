/* See block.h. */
#include "allocator/block.h"

#include "allocator/bins.h"
#include "allocator/merge.h"
#include "allocator/starts.h"
#include "allocator/stats.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"

/* An idle block beside memory that is pending on the stream that it was freed on last becomes pending there too. */
static void follow(struct gsa_block *block, const struct gsa_block *other)
{
	if (other != NULL && other->segment == block->segment && gsa_merge_returns_to(block, other->tag)) {
		block->state = GSA_BLOCK_PENDING;
		block->tag = other->tag;
	}
}

void gsa_block_leave(struct gsa *allocator, struct gsa_block *block)
{
	gsa_block_unlist(allocator, block);
	gsa_stats_leave(allocator, block);
	block->tag = NULL;
}

struct gsa_block *gsa_block_settle(struct gsa *allocator, struct gsa_block *block, enum gsa_block_state state,
				   struct gsa_tag *tag)
{
	gsb_debug_assert((tag != NULL) == (state == GSA_BLOCK_PENDING));
	block->state = state;
	block->tag = tag;
	if (state == GSA_BLOCK_IDLE) {
		follow(block, block->next);
		follow(block, block->prev);
	}
	gsa_stats_enter_free(allocator, block->state, block->size_bytes);
	return gsa_merge_enter(allocator, block);
}

struct gsa_block *gsa_block_cut(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take_dirty(&allocator->block_slab);
	struct gsa_bins *bins = gsa_block_bins(allocator, block);

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	gsb_assert(rear != NULL && size_bytes > 0 && size_bytes < block->size_bytes);
	gsa_bins_remove(bins, block);
	gsa_block_split(block, rear, size_bytes);
	if (block->state == GSA_BLOCK_PENDING)
		gsa_tag_push_behind(block->tag, block, rear);
	gsa_starts_add(&allocator->starts[gsa_block_pool(allocator, rear)], rear);
	gsa_bins_insert(bins, block);
	gsa_bins_insert(bins, rear);
	return rear;
}

struct gsa_block *gsa_block_part(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = gsb_slab_take_dirty(&allocator->block_slab);

	gsb_assert(rear != NULL && size_bytes > 0 && size_bytes < block->size_bytes);
	gsa_block_split(block, rear, size_bytes);
	gsa_starts_add(&allocator->starts[gsa_block_pool(allocator, rear)], rear);
	return rear;
}

struct gsa_block *gsa_block_take_first(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	gsa_block_cut(allocator, block, size_bytes);
	gsa_block_unlist(allocator, block);
	block->tag = NULL;
	return block;
}

struct gsa_block *gsa_block_take(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *last = block, *front;
	uint64_t before = 0;

	if (block->size_bytes > size_bytes) {
		front = gsa_merge_take_front(allocator, gsa_block_bins(allocator, block), block, size_bytes);
		if (front != block)
			gsa_block_inherit(front, block);
		gsa_stats_leave(allocator, front);
		return front;
	}
	for (; before + last->size_bytes < size_bytes; last = last->next)
		before += last->size_bytes;
	if (before + last->size_bytes > size_bytes)
		gsa_block_cut(allocator, last, size_bytes - before);
	gsa_block_leave(allocator, block);
	while (block->size_bytes < size_bytes) {
		gsa_block_leave(allocator, block->next);
		gsa_merge_two(allocator, &allocator->starts[gsa_block_pool(allocator, block)], block, block->next);
	}
	return block;
}
