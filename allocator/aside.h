/* Lookaside lists: small blocks that were freed and may be asked for again in the same size on the same stream, which is
 * what a program that repeats its steps does with most. Such a block is not merged with its neighbours, and is found again
 * by stream and size alone.
 *
 * When a request of the stream finds no fit elsewhere, its lists are emptied one by one, the most bytes first: their blocks are
 * merged and PENDING under the stream's tag. All lists are emptied before anybody looks at free memory as a whole:
 * gsa_acquire. So nothing new is ever held because a block was set aside. In the books such a block is pending. It counts as
 * freed when its list is emptied, which is later than it was: a fence that covers it covers more than is needed.
 *
 * All lists are emptied, too, when as few blocks live as ever lately (gsa_aside_look): in between two steps of a program. So
 * what is free is then one and the same each time, and each step gets the addresses that the last one had. Without that
 * blocks of a size would come back in another order each time.
 *
 * A stream's lists are in a place that it may share with other streams; who comes first has it until they are empty.
 * ALLOCATOR lock held for all of these. */
#ifndef GSA_ASIDE_H
#define GSA_ASIDE_H

#include "allocator/types.h"

static inline struct gsa_aside *gsa_aside_of(struct gsa *allocator, uint64_t stream_id)
{
	return &allocator->asides[stream_id % GSA_ASIDE_STREAMS];
}

static inline struct gsa_aside_list *gsa_aside_list(struct gsa_aside *aside, uint64_t size_bytes)
{
	return &aside->lists[size_bytes / GSA_ROUND_BYTES - 1];
}

/* A block of exactly this size that was freed on the stream, detached; NULL. Size 0 is what one beyond all reason comes to when it
 * is rounded. */
static inline struct gsa_block *gsa_aside_take(struct gsa *allocator, uint64_t stream_id, uint64_t size_bytes)
{
	struct gsa_aside *aside = gsa_aside_of(allocator, stream_id);
	struct gsa_aside_list *list;
	struct gsa_block *block;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	if (size_bytes - 1 >= GSA_ASIDE_BYTES || aside->stream.id != stream_id)
		return NULL;
	list = gsa_aside_list(aside, size_bytes);
	block = list->first;
	if (block == NULL)
		return NULL;
	list->first = block->bin_next;
	list->length--;
	aside->count--;
	return block;
}

/* Detached, in the arena, just freed on the stream, and no larger than GSA_ASIDE_BYTES -> aside. False: there is no room;
 * nothing has changed. */
static inline bool gsa_aside_give(struct gsa *allocator, const struct gsa_stream *stream, struct gsa_block *block)
{
	struct gsa_aside *aside = gsa_aside_of(allocator, stream->id);
	struct gsa_aside_list *list = gsa_aside_list(aside, block->size_bytes);

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	if (aside->count == 0) {
		aside->stream = *stream;
		allocator->asides_used |= 1u << stream->id % GSA_ASIDE_STREAMS;
	} else if (aside->stream.id != stream->id || aside->count == GSA_ASIDE_BLOCKS) {
		return false;
	}
	block->state = GSA_BLOCK_ASIDE;
	block->bin_next = list->first;
	list->first = block;
	list->length++;
	aside->count++;
	return true;
}

/* Empties the list of the stream with the most bytes. False: it has none. */
bool gsa_aside_empty_longest(struct gsa *allocator, uint64_t stream_id);

/* Empties all lists of all streams. */
void gsa_aside_empty_all(struct gsa *allocator);

/* After a block was set aside: so few live, or so long was no look taken, that one is due. */
static inline bool gsa_aside_low(struct gsa *allocator)
{
	uint64_t live_count = allocator->stats.live_count.now;

	if (live_count < allocator->fewest_count)
		allocator->fewest_count = live_count;
	return __builtin_expect(live_count <= allocator->valley_count || allocator->alloc_serial >= allocator->while_end, 0);
}

/* Takes it if it is: between two steps all lists are emptied. */
void gsa_aside_look(struct gsa *allocator);

/* All lists are emptied for somebody. */
void gsa_aside_end(struct gsa *allocator);

/* Takes the ALLOCATOR lock, for whoever looks at free memory as a whole: nothing is aside. */
static inline void gsa_acquire(struct gsa *allocator)
{
	gsb_lock_acquire(&allocator->lock);
	if (allocator->asides_used != 0)
		gsa_aside_end(allocator);
}

/* Asserts that what is aside is what it should be. */
void gsa_aside_check(const struct gsa *allocator);

#endif
