/* See stats.h and gsa.h. */
#include "allocator/stats.h"

#include "allocator/lend.h"
#include "shim/base/assert.h"

static inline void gauge_move(struct gsa_gauge *gauge, bool enter, uint64_t amount)
{
	gsb_debug_assert(enter || gauge->now >= amount);
	gauge->now += enter ? amount : -amount;
	if (enter && gauge->now > gauge->peak)
		gauge->peak = gauge->now;
}

/* Moves every gauge that counts the block. */
static inline void move(struct gsa_stats *stats, const struct gsa_block *block, bool enter)
{
	switch (block->state) {
	case GSA_BLOCK_LIVE:
		gauge_move(&stats->live_count, enter, !block->retired);
		gauge_move(&stats->rounded_bytes, enter, block->size_bytes);
		gauge_move(&stats->allocated_bytes, enter, block->asked_bytes);
		gauge_move(block->origin == GSA_ORIGIN_LEGACY ? &stats->allocated_legacy_bytes
							      : &stats->allocated_async_bytes,
			   enter, block->asked_bytes);
		break;
	case GSA_BLOCK_PENDING:
	case GSA_BLOCK_LENT:
		gauge_move(&stats->pending_bytes, enter, block->size_bytes);
		break;
	case GSA_BLOCK_IDLE:
		gauge_move(&stats->idle_bytes, enter, block->size_bytes);
		break;
	case GSA_BLOCK_UNMAPPED:
	case GSA_BLOCK_SHADOW:
	case GSA_BLOCK_STATE_COUNT:
		return;
	}
	gauge_move(&stats->reserved_bytes, enter, block->size_bytes);
	if (block->state != GSA_BLOCK_LIVE)
		stats->pool_bytes.now += enter ? block->size_bytes : -block->size_bytes;
	else if (block->origin == GSA_ORIGIN_ASYNC)
		gauge_move(&stats->pool_bytes, enter, block->size_bytes);
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
	gauge_move(state == GSA_BLOCK_PENDING ? &stats->pending_bytes : &stats->idle_bytes, true, size_bytes);
	gauge_move(&stats->reserved_bytes, true, size_bytes);
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
