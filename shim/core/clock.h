/* Nanoseconds of CLOCK_MONOTONIC, told by the processor's counter: a fraction of what asking the system costs.
 *
 * A line through what both clocks showed turns ticks into nanoseconds. It is drawn anew each time that twice as much
 * time has passed since the start, so it is off by about as much as the reading of the clocks is, a microsecond at most,
 * and by what the system's clock was corrected by since. In the first milliseconds, and where the counter does not run
 * evenly, the system is asked. */
#ifndef GS_CORE_CLOCK_H
#define GS_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <x86intrin.h>

#include "shim/base/hot.h"

/* Odd sequence: being changed. due_ticks 0: there is no line. */
extern GSB_OURS struct gs_clock_line {
	_Atomic uint64_t sequence;
	_Atomic uint64_t ticks, ns; /* a point of it */
	_Atomic uint64_t rate;	    /* nanoseconds a tick, times 2^32 */
	_Atomic uint64_t due_ticks; /* when to draw it anew */
} gs_clock_line;

/* Marks the start of time: called once, at start. */
void gs_clock_init(void);
uint64_t gs_clock_start_ns(void); /* CLOCK_MONOTONIC */

/* A length of time, by what both clocks did since the start; 0 in the first instant. And CLOCK_MONOTONIC at those ticks, however
 * long ago. */
uint64_t gs_ticks_to_ns(uint64_t ticks);
uint64_t gs_ticks_time_ns(uint64_t ticks);

/* The time now, from the system; draws the line when that is due. */
uint64_t gs_clock_look(void);

static inline uint64_t gs_ticks(void)
{
	return __rdtsc();
}

/* When the counter showed so much, which was a moment ago. */
static inline uint64_t gs_clock_at(uint64_t ticks)
{
	const struct gs_clock_line *line = &gs_clock_line;
	uint64_t sequence = atomic_load_explicit(&line->sequence, memory_order_acquire);
	uint64_t from = atomic_load_explicit(&line->ticks, memory_order_relaxed);
	uint64_t ns = atomic_load_explicit(&line->ns, memory_order_relaxed);
	uint64_t rate = atomic_load_explicit(&line->rate, memory_order_relaxed);

	if (__builtin_expect(ticks >= atomic_load_explicit(&line->due_ticks, memory_order_relaxed), 0))
		return gs_clock_look();
	atomic_thread_fence(memory_order_acquire);
	if (__builtin_expect((sequence & 1) != 0 ||
				     sequence != atomic_load_explicit(&line->sequence, memory_order_relaxed),
			     0))
		return gs_clock_look();
	return ticks < from ? ns : ns + (uint64_t)((unsigned __int128)(ticks - from) * rate >> 32);
}

static inline uint64_t gs_clock_ns(void)
{
	return gs_clock_at(gs_ticks());
}

#endif
