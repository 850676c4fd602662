/* See stats.h and gsa.h. */
#include "allocator/stats.h"

#include "allocator/lend.h"
#include "shim/base/assert.h"

static inline void move_live(struct gsa_stats *stats, const struct gsa_block *block, bool enter)
{
	gsa_gauge_move(&stats->live_count, enter, !block->retired);
	gsa_gauge_move(&stats->rounded_bytes, enter, block->size_bytes);
	gsa_gauge_move(&stats->allocated_bytes, enter, block->asked_bytes);
	gsa_gauge_move(&stats->reserved_bytes, enter, block->size_bytes);
	if (block->origin == GSA_ORIGIN_LEGACY) {
		gsa_gauge_move(&stats->allocated_legacy_bytes, enter, block->asked_bytes);
	} else {
		gsa_gauge_move(&stats->allocated_async_bytes, enter, block->asked_bytes);
		gsa_gauge_move(&stats->pool_bytes, enter, block->size_bytes);
	}
}

static inline void move_free(struct gsa_stats *stats, const struct gsa_block *block, bool enter)
{
	if (block->state == GSA_BLOCK_UNMAPPED || block->state == GSA_BLOCK_SHADOW)
		return;
	gsa_gauge_move(block->state == GSA_BLOCK_IDLE ? &stats->idle_bytes : &stats->pending_bytes, enter, block->size_bytes);
	gsa_gauge_move(&stats->reserved_bytes, enter, block->size_bytes);
	stats->pool_bytes.now += enter ? block->size_bytes : -block->size_bytes;
}

/* Moves every gauge that counts the block. */
static inline void move(struct gsa_stats *stats, const struct gsa_block *block, bool enter)
{
	if (block->state == GSA_BLOCK_LIVE)
		move_live(stats, block, enter);
	else
		move_free(stats, block, enter);
}

void gsa_stats_enter(struct gsa *allocator, const struct gsa_block *block)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	move(&allocator->stats, block, true);
}

void gsa_stats_enter_free(struct gsa *allocator, enum gsa_block_state state, uint64_t size_bytes)
{
	struct gsa_stats *stats = &allocator->stats;

	gsb_debug_assert(gsb_lock_held(&allocator->lock) && state != GSA_BLOCK_LIVE);
	if (state != GSA_BLOCK_PENDING && state != GSA_BLOCK_IDLE)
		return;
	gsa_gauge_move(state == GSA_BLOCK_PENDING ? &stats->pending_bytes : &stats->idle_bytes, true, size_bytes);
	gsa_gauge_move(&stats->reserved_bytes, true, size_bytes);
	stats->pool_bytes.now += size_bytes;
}

void gsa_stats_leave(struct gsa *allocator, const struct gsa_block *block)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	move(&allocator->stats, block, false);
}

void gsa_stats_read(struct gsa *allocator, struct gsa_stats *ret_stats)
{
	gsb_lock_acquire(&allocator->lock);
	gsa_lend_settle_all(allocator);
	*ret_stats = gsa_held(allocator)->stats;
	gsb_lock_release(&allocator->lock);
}

void gsa_stats_reset_peak(struct gsa *allocator)
{
	gsb_lock_acquire(&allocator->lock);
	gsa_lend_settle_all(allocator);
#define RESET_PEAK(name, text) allocator->stats.name.peak = allocator->stats.name.now;
	GSA_GAUGES(RESET_PEAK)
#undef RESET_PEAK
	gsa_held(allocator)->stats.pool_bytes.peak = allocator->stats.pool_bytes.now;
	gsb_lock_release(&allocator->lock);
}

void gsa_stats_reset_pool_used(struct gsa *allocator)
{
	gsb_lock_acquire(&allocator->lock);
	gsa_lend_settle_all(allocator);
	gsa_held(allocator)->stats.allocated_async_bytes.peak = allocator->stats.allocated_async_bytes.now;
	gsb_lock_release(&allocator->lock);
}

void gsa_stats_reset_pool_held(struct gsa *allocator)
{
	gsb_lock_acquire(&allocator->lock);
	gsa_lend_settle_all(allocator);
	gsa_held(allocator)->stats.pool_bytes.peak = allocator->stats.pool_bytes.now;
	gsb_lock_release(&allocator->lock);
}
