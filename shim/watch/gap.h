/* Time in which a device had nothing to do after the host had waited for it, added up at the place of the wait.
 *
 * A gap begins when a wait has returned that left nothing pending in its context, and ends when the next call begins that gives that
 * context work. So it is a lower bound, of the host's making: the device may have been done before the wait returned,
 * and its work begins after the call does. Other contexts of the device, and other processes, are not looked at. Any
 * thread; of contexts that share a slot one is forgotten. */
#ifndef GS_WATCH_GAP_H
#define GS_WATCH_GAP_H

#include <stdatomic.h>
#include <stdint.h>

#define GS_GAPS 16u

struct gs_gap {
	_Atomic uint64_t since; /* ticks; 0 = none is open */
	_Atomic uint32_t context;
	_Atomic(_Atomic uint64_t *) sum; /* ticks */
	char apart[40];			 /* from the gaps of other contexts */
};
_Static_assert(sizeof(struct gs_gap) == 64, "a gap has its cache line");

extern struct gs_gap gs_gaps[GS_GAPS];

static inline struct gs_gap *gs_gap_of(uint32_t context)
{
	return &gs_gaps[(context ^ context >> 4 ^ context >> 8) % GS_GAPS];
}

/* The wait that has just returned left nothing pending. sum lives for ever. */
void gs_gap_begin(uint32_t context, uint64_t now_ticks, _Atomic uint64_t *sum);
void gs_gap_end(struct gs_gap *gap, uint32_t context, uint64_t when_ticks);

/* Work was given to the context by a call that began then. */
static inline void gs_gap_work(uint32_t context, uint64_t when_ticks)
{
	struct gs_gap *gap = gs_gap_of(context);

	if (__builtin_expect(atomic_load_explicit(&gap->since, memory_order_relaxed) != 0, 0))
		gs_gap_end(gap, context, when_ticks);
}

#endif
