/* Blocks: cutting, merging, and moving between the bins and states. ALLOCATOR lock held for all of these.
 *
 * A block is *entered* (in a bin and in the books of its state) or *detached*. Functions say which they want.
 * Whatever is split or merged, the node at the front stays the node of the front. */
#ifndef GSA_BLOCK_H
#define GSA_BLOCK_H

#include "allocator/types.h"

/* Detached -> entered as `state`, under `tag` if PENDING (else NULL), first merged with neighbours that are alike. Idle
 * memory and memory pending on the stream that the former was freed on last are alike too, and together pending: a
 * program whose stream is known to be idle now and then would otherwise cut its memory in ever smaller pieces. Returns
 * the block it has become part of. Not for LIVE. Cannot fail. */
struct gsa_block *gsa_block_settle(struct gsa *allocator, struct gsa_block *block, enum gsa_block_state state,
				   struct gsa_tag *tag);

/* Entered, free -> detached. */
void gsa_block_leave(struct gsa *allocator, struct gsa_block *block);

/* Cuts an entered free block in two that are as free as it was; the caller changes one of them before it lets the lock
 * go. Takes one node from block_slab, which must have been reserved. Returns the rear part. */
struct gsa_block *gsa_block_cut(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

/* Detached -> two of these; returns the rear part. Takes one node. */
struct gsa_block *gsa_block_part(struct gsa *allocator, struct gsa_block *block, uint64_t size_bytes);

/* What is told of the last use of `from` is told of the block. */
static inline void gsa_block_inherit(struct gsa_block *block, const struct gsa_block *from)
{
	block->asked_bytes = from->asked_bytes;
	block->owner = from->owner;
	block->pool = from->pool;
	block->serial = from->serial;
	block->time_ns = from->time_ns;
	block->stream_id = from->stream_id;
	block->origin = from->origin;
	block->stack = from->stack;
	block->thread = from->thread;
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
