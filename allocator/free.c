/* Freeing, and the news by which freed memory becomes idle. Nothing here can fail for lack of anything. */
#include <stdatomic.h>

#include "allocator/aside.h"
#include "allocator/block.h"
#include "allocator/merge.h"
#include "allocator/fence.h"
#include "allocator/lend.h"
#include "allocator/live.h"
#include "allocator/plain.h"
#include "allocator/segment.h"
#include "allocator/share.h"
#include "allocator/stats.h"
#include "allocator/stitch.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

/* Memory that will not be used again where it was freed: others need a fence, and one recorded now is done sooner than
 * one recorded when they ask. */
static bool goes_elsewhere(const struct gsa *allocator, const struct gsa_block *block, const struct gsa_stream *stream)
{
	const struct gsa_stats *stats = &allocator->stats;

	return block->size_bytes >= GSA_FENCE_BYTES && stream != NULL && block->stream_id != 0 &&
	       (block->stream_id != stream->id ||
		stats->cross_stream > GSA_CROSS_LEAST + stats->allocs / GSA_CROSS_SHARE);
}

static void pend(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream)
{
	struct gsa_tag *tag = gsa_tag_for(allocator, stream);

	block->freed_on = tag->stream.id;
	if (block->segment->kind != GSA_SEGMENT_STITCHED) {
		gsa_block_settle(allocator, block, GSA_BLOCK_PENDING, tag);
		return;
	}
	gsa_stitch_return(allocator, block, tag);
	gsa_tag_retire(allocator, tag); /* what was shared is not under it */
}

/* The live block goes where the next request like it finds it, if it is one of the many that may. Followed by
 * gsa_aside_look. */
static inline bool set_aside(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream)
{
	if (block->size_bytes > GSA_ASIDE_BYTES || block->segment->pool != GSA_POOL_SMALL || block->shared ||
	    stream == NULL || block->stream_id != stream->id || block->origin != GSA_ORIGIN_ASYNC ||
	    !gsa_aside_give(allocator, stream, block))
		return false;
	gsa_stats_freed(allocator, block, &allocator->stats.pending_bytes);
	return true;
}

static bool ran_ahead(const struct gsa *allocator)
{
	uint64_t allowed_bytes = allocator->stats.rounded_bytes.now / GSA_AHEAD_SHARE;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	if (allowed_bytes < GSA_AHEAD_BYTES)
		allowed_bytes = GSA_AHEAD_BYTES;
	return allocator->stats.pending_bytes.now > allowed_bytes && !allocator->options.runs_ahead;
}

bool gsa_ran_ahead(struct gsa *allocator)
{
	bool ahead;

	gsb_lock_acquire(&allocator->lock);
	ahead = ran_ahead(allocator);
	gsb_lock_release(&allocator->lock);
	return ahead;
}

/* Likewise, for any block that stays held and needs no fence at once. */
static inline bool release(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream)
{
	struct gsa_tag *tag;

	if (block->segment->exact || block->shared || goes_elsewhere(allocator, block, stream) ||
	    (stream == NULL && ran_ahead(allocator)))
		return false;
	if (__builtin_expect(block->segment->kind == GSA_SEGMENT_STITCHED, 0)) {
		gsa_live_leave(allocator, block);
		pend(allocator, block, stream);
		return true;
	}
	tag = gsa_tag_for(allocator, stream);
	gsa_stats_freed(allocator, block, &allocator->stats.pending_bytes);
	block->free_serial = ++allocator->free_serial;
	gsa_merge_pend(allocator, block, tag);
	return true;
}

/* The lock is held, and is released; so in the next ones. */
static __attribute__((noinline)) int free_rest(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream)
{
	int error = release(allocator, block, stream) ? GS_OK : GS_E_NOT_FOUND;

	gsb_lock_release(&allocator->lock);
	return error;
}

static __attribute__((noinline)) int free_low(struct gsa *allocator)
{
	gsa_aside_look(allocator);
	gsb_lock_release(&allocator->lock);
	return GS_OK;
}

/* Whatever else is called comes last: nothing has to be kept for its return. */
static inline int free_live(struct gsa *allocator, struct gsa_block *block, const struct gsa_stream *stream,
			    struct gsa_note *ret_note)
{
	if (ret_note != NULL)
		*ret_note = gsa_live_note(block);
	if (!set_aside(allocator, block, stream))
		return free_rest(allocator, block, stream);
	if (gsa_aside_low(allocator))
		return free_low(allocator);
	gsb_lock_release(&allocator->lock);
	return GS_OK;
}

static __attribute__((noinline)) int free_found(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream,
						struct gsa_note *ret_note)
{
	struct gsa_block *block = gsa_live_beginning(allocator, address);

	if (block != NULL)
		return free_live(allocator, block, stream, ret_note);
	gsb_lock_release(&allocator->lock);
	return GS_E_NOT_FOUND;
}

/* Where lanes are open or others want the lock, too. No lock held. */
static __attribute__((noinline)) int free_crowded(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream,
						       struct gsa_note *ret_note)
{
	if (gsa_lane_free(allocator, address, stream, NULL, ret_note))
		return GS_OK;
	gsa_lend_acquire(allocator);
	return free_found(allocator, address, stream, ret_note);
}

int gsa_free_held(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream, struct gsa_note *ret_note)
{
	struct gsa_block *block;

	if (gsa_lane_any(allocator) || !gsb_lock_try(&allocator->lock))
		return free_crowded(allocator, address, stream, ret_note);
	gsa_lend_cool(allocator);
	block = gsa_live_in_unit(allocator, address);
	if (block == NULL)
		return free_found(allocator, address, stream, ret_note);
	return free_live(allocator, block, stream, ret_note);
}

static int free_at(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream, struct gsa_block_info *ret_block)
{
	struct gsa_block_info info;
	struct gsa_block *block;
	bool exact, elsewhere;
	int error;

	gsb_lock_acquire(&allocator->lock);
	block = gsa_live_beginning(allocator, address);
	if (block == NULL) {
		gsb_lock_release(&allocator->lock);
		return GS_E_NOT_FOUND;
	}
	gsa_live_describe(block, &info);
	exact = block->segment->exact;
	elsewhere = goes_elsewhere(allocator, block, stream);
	if (set_aside(allocator, block, stream)) {
		gsa_aside_look(allocator);
		goto unlock;
	}
	gsa_live_leave(allocator, block);
	if (exact) {
		gsa_plain_forget(allocator, block);
	} else if (block->shared && block->segment->kind != GSA_SEGMENT_STITCHED) {
		gsa_share_retire(allocator, block);
	} else {
		pend(allocator, block, stream);
	}
unlock:
	gsb_lock_release(&allocator->lock);
	if (ret_block != NULL)
		*ret_block = info;
	if (!exact) {
		if (elsewhere)
			gsa_fences_early(allocator, stream->id);
		return GS_OK;
	}
	error = allocator->ops.plain_free(allocator->device, address);
	gsa_segment_tell(allocator, false, address, info.reserved_bytes);
	return error;
}

int gsa_free(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream, struct gsa_block_info *ret_block)
{
	int entered, error;

	if (gsa_lane_free(allocator, address, stream, ret_block, NULL))
		return GS_OK;
	if (!atomic_load_explicit(&allocator->exact_ever, memory_order_relaxed))
		return free_at(allocator, address, stream, ret_block);
	entered = gsa_plain_enter(&allocator->ops);
	error = free_at(allocator, address, stream, ret_block);
	gsa_plain_leave(&allocator->ops, entered);
	return error;
}

uint64_t gsa_free_serial(struct gsa *allocator)
{
	uint64_t serial;

	gsa_acquire(allocator);
	serial = gsa_held(allocator)->free_serial;
	gsb_lock_release(&allocator->lock);
	return serial;
}

void gsa_device_idle(struct gsa *allocator, uint64_t before)
{
	gsa_acquire(allocator);
	gsa_tags_idle(allocator, before);
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
}

uint64_t gsa_stream_serial(struct gsa *allocator, uint64_t stream_id)
{
	const struct gsa_tag *tag;
	uint64_t serial;

	gsa_acquire(allocator);
	tag = gsa_tag_find(allocator, stream_id);
	serial = tag != NULL && (tag->oldest != NULL || tag->fences != NULL) ? allocator->free_serial : 0;
	gsb_lock_release(&allocator->lock);
	return serial;
}

void gsa_stream_idle(struct gsa *allocator, uint64_t stream_id, uint64_t before)
{
	struct gsa_tag *tag;

	gsa_acquire(allocator);
	tag = gsa_tag_find(allocator, stream_id);
	if (tag != NULL)
		gsa_tag_idle(allocator, tag, before);
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
}

void gsa_stream_ending(struct gsa *allocator, const struct gsa_stream *stream)
{
	gsa_acquire(allocator);
	gsa_lend_end_stream(allocator, stream->id);
	gsb_lock_release(&allocator->lock);
	gsa_fences_stream_ending(allocator, stream->id);
}

/* Plain segments die with the context: they leave the books and come back as a list through queue_next. */
static struct gsa_block *bury_plain(struct gsa *allocator, uint64_t owner, size_t *live_count)
{
	struct gsa_segment *segment;
	struct gsa_block *buried = NULL;

	for (uint64_t at = 0; (segment = gsa_map_ceiling(&allocator->segments, at)) != NULL;
	     at = segment->address + GSA_MAP_UNIT_BYTES) {
		struct gsa_block *block = segment->first;

		if (segment->kind != GSA_SEGMENT_PLAIN || segment->owner != owner)
			continue;
		if (block->state == GSA_BLOCK_LIVE) {
			gsa_live_leave(allocator, block);
			++*live_count;
		} else {
			gsa_block_leave(allocator, block);
		}
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		block->queue_next = buried;
		buried = block;
	}
	return buried;
}

static bool dies_with(const struct gsa_block *block, uint64_t owner)
{
	return block->state == GSA_BLOCK_LIVE && !block->retired && block->owner == owner &&
	       block->origin == GSA_ORIGIN_LEGACY;
}

static void free_live_of(struct gsa *allocator, uint64_t owner, size_t *live_count)
{
	for (struct gsa_segment *segment = allocator->stitched; segment != NULL; segment = segment->next_stitched)
		if (dies_with(segment->first, owner)) {
			gsa_live_leave(allocator, segment->first);
			gsa_stitch_return(allocator, segment->first, NULL);
			++*live_count;
		}
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++)
		for (struct gsa_block *block = allocator->first[pool]; block != NULL; block = block->next) {
			if (!dies_with(block, owner))
				continue;
			gsa_live_leave(allocator, block);
			if (block->shared)
				gsa_share_retire(allocator, block);
			else
				block = gsa_block_settle(allocator, block, GSA_BLOCK_IDLE, NULL);
			++*live_count;
		}
}

size_t gsa_owner_gone(struct gsa *allocator, uint64_t owner)
{
	struct gsa_block *buried;
	struct gsa_tag *next;
	size_t live_count = 0;

	gsa_acquire(allocator);
	gsa_lend_end_all(allocator);
	buried = bury_plain(allocator, owner, &live_count);
	free_live_of(allocator, owner, &live_count);
	for (struct gsa_tag *tag = allocator->streamless.next; tag != NULL; tag = next) {
		next = tag->next;
		if (tag->stream.owner == owner)
			gsa_tag_idle(allocator, tag, UINT64_MAX);
	}
	gsb_lock_release(&allocator->lock);
	gsa_fences_drain(allocator);
	gsa_share_sweep(allocator);
	while (buried != NULL) {
		struct gsa_block *block = buried;

		buried = block->queue_next;
		gsa_segment_tell(allocator, false, block->address, block->size_bytes);
		gsa_acquire(allocator);
		gsb_slab_give(&allocator->segment_slab, block->segment);
		gsb_slab_give(&allocator->block_slab, block);
		gsb_lock_release(&allocator->lock);
	}
	return live_count;
}
