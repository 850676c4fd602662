/* Blocks: cutting, merging, and moving between the bins and states. ALLOCATOR lock held for all of these.
 *
 * A block is *entered* (in a bin and in the books of its state) or *detached*. Functions say which they want.
 * Whatever is split or merged, the first block of a segment stays the same node. */
#ifndef GSA_BLOCK_H
#define GSA_BLOCK_H

#include <stddef.h>
#include <string.h>

#include "allocator/bins.h"
#include "allocator/tag.h"

/* Detached -> entered as `state`, under `tag` if PENDING (else NULL), first merged with neighbours that are alike. Idle
 * memory and memory pending on the stream that the former was freed on last are alike too, and together pending: a
 * program whose stream is known to be idle now and then would otherwise cut its memory in ever smaller pieces. Returns
 * the block it has become part of. Not for LIVE. Cannot fail. */
struct gsa_block *gsa_block_settle(struct gsa *allocator, struct gsa_block *block, enum gsa_block_state state,
				   struct gsa_tag *tag);

/* Entered, free -> detached. */
void gsa_block_leave(struct gsa *allocator, struct gsa_block *block);

/* Of a block in the arena. */
static inline enum gsa_pool gsa_block_pool(const struct gsa *allocator, const struct gsa_block *block)
{
	return block->address < allocator->small_address ? GSA_POOL_LARGE : GSA_POOL_SMALL;
}

/* Where it is, if it is entered. */
static inline struct gsa_bins *gsa_block_bins(struct gsa *allocator, const struct gsa_block *block)
{
	if (block->tag != NULL)
		return &block->tag->bins[block->segment->pool];
	return block->state == GSA_BLOCK_UNMAPPED ? &allocator->holes[gsa_block_pool(allocator, block)]
						  : &allocator->idle[block->segment->pool];
}

/* Entered, free -> in no bin and no queue; the books still count it, and it keeps its tag. */
static inline void gsa_block_unlist(struct gsa *allocator, struct gsa_block *block)
{
	gsb_debug_assert(block->state != GSA_BLOCK_LIVE);
	gsa_bins_remove(gsa_block_bins(allocator, block), block);
	if (block->tag != NULL)
		gsa_tag_pull(block->tag, block);
}

/* Likewise the front of an entered free block that is the first of its segment: it keeps its node. The rest is a new one. */
struct gsa_block *gsa_block_take_first(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

/* Cuts an entered free block in two that are as free as it was; the caller changes one of them before it lets the lock
 * go. Takes one node from block_slab, which must have been reserved. Returns the rear part. */
struct gsa_block *gsa_block_cut(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

/* Detached -> two of these; returns the rear part. Takes one node. */
struct gsa_block *gsa_block_part(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

/* What is told of the last use of `from` is told of the block. */
static inline void gsa_block_inherit(struct gsa_block *block, const struct gsa_block *from)
{
	block->origin = from->origin;
	memcpy(&block->asked_bytes, &from->asked_bytes, sizeof(*block) - offsetof(struct gsa_block, asked_bytes));
}

/* The block keeps its first bytes; rear becomes the rest of it, and all else is as it was. In no bin and no book. */
static inline void gsa_block_split(struct gsa_block *block, struct gsa_block *rear, uint64_t size_bytes)
{
	*rear = *block;
	rear->address += size_bytes;
	rear->size_bytes -= size_bytes;
	rear->prev = block;
	if (rear->next != NULL)
		rear->next->prev = rear;
	block->size_bytes = size_bytes;
	block->next = rear;
}

/* Merges the free block with as many of its successors as it takes, all of them entered and free, cuts off what is too
 * much and returns the rest detached. Takes at most one node. */
struct gsa_block *gsa_block_take(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

#endif
