/* See tag.h. */
#include "allocator/tag.h"

#include <stddef.h>
#include <string.h>

#include "allocator/block.h"
#include "allocator/fence.h"
#include "shim/base/assert.h"

static struct gsa_tag **bucket_of(struct gsa *allocator, uint64_t stream_id)
{
	return &allocator->tags[(stream_id * 0x9e3779b97f4a7c15ull >> 32) % GSA_TAG_BUCKETS];
}

struct gsa_tag *gsa_tag_find(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_tag *tag = *bucket_of(allocator, stream_id);

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	while (tag != NULL && tag->stream.id != stream_id)
		tag = tag->bucket_next;
	return tag;
}

struct gsa_tag *gsa_tag_for(struct gsa *allocator, const struct gsa_stream *stream)
{
	struct gsa_tag **bucket;
	struct gsa_tag *tag;

	if (stream == NULL)
		return &allocator->streamless;
	tag = gsa_tag_find(allocator, stream->id);
	if (tag != NULL)
		return tag->ending ? &allocator->streamless : tag;
	tag = gsb_slab_take_dirty(&allocator->tag_slab);
	if (tag == NULL)
		return &allocator->streamless;
	memset(tag, 0, offsetof(struct gsa_tag, bins));
	bucket = bucket_of(allocator, stream->id);
	tag->stream = *stream;
	tag->bucket_next = *bucket;
	*bucket = tag;
	tag->prev = &allocator->streamless;
	tag->next = allocator->streamless.next;
	if (tag->next != NULL)
		tag->next->prev = tag;
	allocator->streamless.next = tag;
	return tag;
}

void gsa_tag_retire(struct gsa *allocator, struct gsa_tag *tag)
{
	struct gsa_tag **link = bucket_of(allocator, tag->stream.id);

	if (tag == &allocator->streamless || tag->bytes > 0 || tag->fences != NULL || tag->pins > 0)
		return;
	while (*link != tag)
		link = &(*link)->bucket_next;
	*link = tag->bucket_next;
	tag->prev->next = tag->next;
	if (tag->next != NULL)
		tag->next->prev = tag->prev;
	gsb_slab_give(&allocator->tag_slab, tag);
}

void gsa_tag_push_behind(struct gsa_tag *tag, struct gsa_block *block, struct gsa_block *rear)
{
	rear->queue_prev = block;
	rear->queue_next = block->queue_next;
	block->queue_next = rear;
	if (rear->queue_next != NULL)
		rear->queue_next->queue_prev = rear;
	else
		tag->newest = rear;
}

void gsa_tag_push(struct gsa_tag *tag, struct gsa_block *block)
{
	struct gsa_block *older = tag->newest;

	while (older != NULL && older->free_serial > block->free_serial)
		older = older->queue_prev;
	tag->bytes += block->size_bytes;
	if (older != NULL) {
		gsa_tag_push_behind(tag, older, block);
		return;
	}
	block->queue_prev = NULL;
	block->queue_next = tag->oldest;
	tag->oldest = block;
	if (block->queue_next != NULL)
		block->queue_next->queue_prev = block;
	else
		tag->newest = block;
}

void gsa_tag_pull(struct gsa_tag *tag, struct gsa_block *block)
{
	gsb_debug_assert(tag->bytes >= block->size_bytes);
	tag->bytes -= block->size_bytes;
	if (block->queue_prev != NULL)
		block->queue_prev->queue_next = block->queue_next;
	else
		tag->oldest = block->queue_next;
	if (block->queue_next != NULL)
		block->queue_next->queue_prev = block->queue_prev;
	else
		tag->newest = block->queue_prev;
	block->queue_prev = NULL;
	block->queue_next = NULL;
}

void gsa_tag_replace(struct gsa_tag *tag, struct gsa_block *block, struct gsa_block *rear)
{
	gsb_debug_assert(tag->bytes >= block->size_bytes);
	tag->bytes -= block->size_bytes;
	if (rear->queue_prev != NULL)
		rear->queue_prev->queue_next = rear;
	else
		tag->oldest = rear;
	if (rear->queue_next != NULL)
		rear->queue_next->queue_prev = rear;
	else
		tag->newest = rear;
	block->queue_prev = NULL;
	block->queue_next = NULL;
}

void gsa_tag_idle(struct gsa *allocator, struct gsa_tag *tag, uint64_t before)
{
	while (tag->oldest != NULL && tag->oldest->free_serial <= before) {
		struct gsa_block *block = tag->oldest;

		gsa_block_leave(allocator, block);
		if (allocator->ops.on_idle != NULL)
			allocator->ops.on_idle(allocator->device, block->address, block->size_bytes, tag->stream.id);
		gsa_block_settle(allocator, block, GSA_BLOCK_IDLE, NULL);
	}
	gsa_fences_expire(allocator, tag, before);
	gsa_tag_retire(allocator, tag);
}

void gsa_tags_idle(struct gsa *allocator, uint64_t before)
{
	struct gsa_tag *next;

	for (struct gsa_tag *tag = &allocator->streamless; tag != NULL; tag = next) {
		next = tag->next;
		gsa_tag_idle(allocator, tag, before);
	}
}

void gsa_tag_orphan(struct gsa *allocator, struct gsa_tag *tag)
{
	gsb_debug_assert(tag != &allocator->streamless);
	while (tag->oldest != NULL) {
		struct gsa_block *block = tag->oldest;

		gsa_block_leave(allocator, block);
		gsa_block_settle(allocator, block, GSA_BLOCK_PENDING, &allocator->streamless);
	}
	gsa_fences_expire(allocator, tag, UINT64_MAX);
	gsa_tag_retire(allocator, tag);
}
