/* See gap.h. */
#include "shim/watch/gap.h"

#include "shim/core/counter.h"

struct gs_gap gs_gaps[GS_GAPS];

void gs_gap_begin(uint32_t context, uint64_t now_ticks, _Atomic uint64_t *sum)
{
	struct gs_gap *gap = gs_gap_of(context);

	atomic_store_explicit(&gap->context, context, memory_order_relaxed);
	atomic_store_explicit(&gap->sum, sum, memory_order_relaxed);
	atomic_store_explicit(&gap->since, now_ticks, memory_order_release);
}

void gs_gap_end(struct gs_gap *gap, uint32_t context, uint64_t when_ticks)
{
	uint64_t since = atomic_load_explicit(&gap->since, memory_order_acquire);
	_Atomic uint64_t *sum = atomic_load_explicit(&gap->sum, memory_order_relaxed);

	if (since == 0 || atomic_load_explicit(&gap->context, memory_order_relaxed) != context ||
	    !atomic_compare_exchange_strong(&gap->since, &since, 0) || when_ticks <= since)
		return;
	atomic_fetch_add_explicit(sum, when_ticks - since, memory_order_relaxed);
	gs_figure_add(GS_FIGURE_IDLE, when_ticks - since);
}
