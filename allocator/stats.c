/* See stats.h and gsa.h. */
#include "allocator/stats.h"

#include "shim/base/assert.h"

static void gauge_add(struct gsa_gauge *gauge, uint64_t amount)
{
	gauge->now += amount;
	if (gauge->now > gauge->peak)
		gauge->peak = gauge->now;
}

static void gauge_sub(struct gsa_gauge *gauge, uint64_t amount)
{
	gsb_assert(gauge->now >= amount);
	gauge->now -= amount;
}

/* Applies change to every gauge that counts the block. */
static void apply(struct gsa_stats *stats, const struct gsa_block *block,
		  void (*change)(struct gsa_gauge *gauge, uint64_t amount))
{
	switch (block->state) {
	case GSA_BLOCK_LIVE:
		change(&stats->live_count, 1);
		change(&stats->rounded_bytes, block->size_bytes);
		change(&stats->allocated_bytes, block->asked_bytes);
		if (block->origin == GSA_ORIGIN_LEGACY)
			change(&stats->allocated_legacy_bytes, block->asked_bytes);
		else
			change(&stats->allocated_async_bytes, block->asked_bytes);
		break;
	case GSA_BLOCK_PENDING:
		change(&stats->pending_bytes, block->size_bytes);
		break;
	case GSA_BLOCK_IDLE:
		change(&stats->idle_bytes, block->size_bytes);
		break;
	case GSA_BLOCK_UNMAPPED:
		return;
	}
	change(&stats->reserved_bytes, block->size_bytes);
}

void gsa_stats_enter(struct gsa *allocator, const struct gsa_block *block)
{
	apply(&allocator->stats, block, gauge_add);
}

void gsa_stats_leave(struct gsa *allocator, const struct gsa_block *block)
{
	apply(&allocator->stats, block, gauge_sub);
}

void gsa_stats_read(struct gsa *allocator, struct gsa_stats *ret_stats)
{
	gsb_lock_acquire(&allocator->lock);
	*ret_stats = allocator->stats;
	gsb_lock_release(&allocator->lock);
}

void gsa_stats_reset_peak(struct gsa *allocator)
{
	gsb_lock_acquire(&allocator->lock);
#define RESET_PEAK(name, text) allocator->stats.name.peak = allocator->stats.name.now;
	GSA_GAUGES(RESET_PEAK)
#undef RESET_PEAK
	gsb_lock_release(&allocator->lock);
}
