/* Keeping the figures of gsa.h true: one function for everything that enters or leaves a state. */
#ifndef GSA_STATS_H
#define GSA_STATS_H

#include "allocator/types.h"
#include "shim/base/assert.h"

static inline void gsa_gauge_move(struct gsa_gauge *gauge, bool enter, uint64_t amount)
{
	gsb_debug_assert(enter || gauge->now >= amount);
	gauge->now += enter ? amount : -amount;
	if (enter && gauge->now > gauge->peak)
		gauge->peak = gauge->now;
}

/* A block in `state` entered (or left) the books. ALLOCATOR lock held. Leave before enter, or peaks are too high. */
void gsa_stats_enter(struct gsa *allocator, const struct gsa_block *block);
void gsa_stats_leave(struct gsa *allocator, const struct gsa_block *block);

/* The figure that counts a free block; ASIDE ones are pending. */
static inline struct gsa_gauge *gsa_stats_of_free(struct gsa *allocator, enum gsa_block_state state)
{
	return state == GSA_BLOCK_IDLE ? &allocator->stats.idle_bytes : &allocator->stats.pending_bytes;
}

/* A block that was counted as free became LIVE, and the other way round: counted as an allocation, and as a free. What is held
 * stays the same. */
static inline void gsa_stats_served(struct gsa *allocator, const struct gsa_block *block, struct gsa_gauge *was)
{
	uint64_t size_bytes = block->size_bytes, asked_bytes = block->asked_bytes, free_bytes;
	struct gsa_stats *stats = &allocator->stats;

	gsb_debug_assert(gsb_lock_held(&allocator->lock) && was->now >= size_bytes);
	was->now -= size_bytes;
	free_bytes = stats->pending_bytes.now + stats->idle_bytes.now;
	if (free_bytes < allocator->least_free_bytes)
		allocator->least_free_bytes = free_bytes;
	gsa_gauge_move(&stats->live_count, true, 1);
	gsa_gauge_move(&stats->rounded_bytes, true, size_bytes);
	gsa_gauge_move(&stats->allocated_bytes, true, asked_bytes);
	if (block->origin == GSA_ORIGIN_ASYNC) {
		gsa_gauge_move(&stats->allocated_async_bytes, true, asked_bytes);
		gsa_gauge_move(&stats->pool_bytes, true, 0);
	} else {
		gsa_gauge_move(&stats->allocated_legacy_bytes, true, asked_bytes);
		stats->pool_bytes.now -= size_bytes;
	}
	stats->allocs++;
}

static inline void gsa_stats_freed(struct gsa *allocator, const struct gsa_block *block, struct gsa_gauge *becomes)
{
	uint64_t size_bytes = block->size_bytes, asked_bytes = block->asked_bytes;
	struct gsa_stats *stats = &allocator->stats;

	gsb_debug_assert(gsb_lock_held(&allocator->lock) && !block->retired);
	gsa_gauge_move(&stats->live_count, false, 1);
	gsa_gauge_move(&stats->rounded_bytes, false, size_bytes);
	gsa_gauge_move(&stats->allocated_bytes, false, asked_bytes);
	if (block->origin == GSA_ORIGIN_ASYNC) {
		gsa_gauge_move(&stats->allocated_async_bytes, false, asked_bytes);
	} else {
		gsa_gauge_move(&stats->allocated_legacy_bytes, false, asked_bytes);
		stats->pool_bytes.now += size_bytes;
	}
	gsa_gauge_move(becomes, true, size_bytes);
	stats->frees++;
}

/* So much entered as free: PENDING, IDLE, or UNMAPPED, which is not counted. */
void gsa_stats_enter_free(struct gsa *allocator, enum gsa_block_state state, uint64_t size_bytes);

#endif
