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

struct gsa_tag *gsa_tag_search(struct gsa *allocator, uint64_t stream_id)
{
	struct gsa_tag *tag = *bucket_of(allocator, stream_id);

	while (tag != NULL && tag->stream.id != stream_id)
		tag = tag->bucket_next;
	if (tag != NULL)
		allocator->last_tag = tag;
	return tag;
}

struct gsa_tag *gsa_tag_make(struct gsa *allocator, const struct gsa_stream *stream)
{
	struct gsa_tag *tag = gsb_slab_take_dirty(&allocator->tag_slab);
	struct gsa_tag **bucket;

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

void gsa_tag_forget(struct gsa *allocator, struct gsa_tag *tag)
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
	if (allocator->last_tag == tag)
		allocator->last_tag = NULL;
	gsb_slab_give(&allocator->tag_slab, tag);
}

void gsa_tag_push_first(struct gsa_tag *tag, struct gsa_block *block)
{
	block->queue_prev = NULL;
	block->queue_next = tag->oldest;
	tag->oldest = block;
	if (block->queue_next != NULL)
		block->queue_next->queue_prev = block;
	else
		tag->newest = block;
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
