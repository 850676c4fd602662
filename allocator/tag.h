/* Tags: which stream memory was freed on, and the fences that will tell when it is idle. ALLOCATOR lock held.
 *
 * A tag exists while it has blocks, fences or pins. The one without a stream always exists; it also takes what cannot
 * have a tag of its own (no node for one, or its stream is gone): a fence over all streams covers any of it. */
#ifndef GSA_TAG_H
#define GSA_TAG_H

#include "allocator/types.h"
#include "shim/base/assert.h"

/* The tag of the stream; NULL when there is none. The one found last is looked at first. */
struct gsa_tag *gsa_tag_search(struct gsa *allocator, uint64_t stream_id);

static inline struct gsa_tag *gsa_tag_find(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_tag *tag = allocator->last_tag;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	return __builtin_expect(tag != NULL && tag->stream.id == stream_id, 1) ? tag : gsa_tag_search(allocator, stream_id);
}

/* The tag to free on; never NULL. stream NULL: without a stream. */
struct gsa_tag *gsa_tag_make(struct gsa *allocator, const struct gsa_stream *stream);

static inline struct gsa_tag *gsa_tag_for(struct gsa *allocator, const struct gsa_stream *stream)
{
	struct gsa_tag *tag = stream != NULL ? gsa_tag_find(allocator, stream->id) : &allocator->streamless;

	if (__builtin_expect(tag == NULL, 0))
		return gsa_tag_make(allocator, stream);
	return __builtin_expect(tag->ending, 0) ? &allocator->streamless : tag;
}

/* Everything freed in it up to `before` is idle; fences that cover no more than that have nothing more to say. */
void gsa_tag_idle(struct gsa *allocator, struct gsa_tag *tag, uint64_t before);

/* Likewise for every tag. */
void gsa_tags_idle(struct gsa *allocator, uint64_t before);

/* Its stream can no longer be asked: its blocks move to the tag without a stream. */
void gsa_tag_orphan(struct gsa *allocator, struct gsa_tag *tag);

/* Forgets the tag if nothing needs it. */
void gsa_tag_forget(struct gsa *allocator, struct gsa_tag *tag);

static inline void gsa_tag_retire(struct gsa *allocator, struct gsa_tag *tag)
{
	if (__builtin_expect(tag->bytes == 0, 0))
		gsa_tag_forget(allocator, tag);
}

/* For block.c: the tag's queue and byte count. `rear` comes right behind the block, which is there and was freed no later; its
 * bytes are counted. */
static inline void gsa_tag_push_behind(struct gsa_tag *tag, struct gsa_block *block, struct gsa_block *rear)
{
	rear->queue_prev = block;
	rear->queue_next = block->queue_next;
	block->queue_next = rear;
	if (rear->queue_next != NULL)
		rear->queue_next->queue_prev = rear;
	else
		tag->newest = rear;
}

void gsa_tag_push_first(struct gsa_tag *tag, struct gsa_block *block);

static inline void gsa_tag_push(struct gsa_tag *tag, struct gsa_block *block)
{
	struct gsa_block *older = tag->newest;

	while (older != NULL && older->free_serial > block->free_serial)
		older = older->queue_prev;
	tag->bytes += block->size_bytes;
	if (__builtin_expect(older != NULL, 1))
		gsa_tag_push_behind(tag, older, block);
	else
		gsa_tag_push_first(tag, block);
}

static inline void gsa_tag_pull(struct gsa_tag *tag, struct gsa_block *block)
{
	gsb_debug_assert(tag->bytes >= block->size_bytes);
	tag->bytes -= block->size_bytes;
	*(block->queue_prev != NULL ? &block->queue_prev->queue_next : &tag->oldest) = block->queue_next;
	*(block->queue_next != NULL ? &block->queue_next->queue_prev : &tag->newest) = block->queue_prev;
}

#endif
