/* What launches take on the device, by samples: now and then a launch gets an event before and one behind it, and the time
 * between them is what its kernel took.
 *
 * Rarely enough that all of it costs the host no more than the setting device_time says, and never while a capture may be
 * open, under a profiler, or where the events might order work that is in no order without them: on a legacy stream once the
 * program has made a stream that waits for it. What the events themselves take is taken off; where a kernel finds the
 * device idle, which begins when its launch has come through, also the host time of the launch.
 *
 * Any thread. */
#ifndef GS_WATCH_SAMPLE_H
#define GS_WATCH_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/api/call.h"
#include "shim/api/cuda.h"
#include "shim/watch/kernel.h"

/* percent: of the host's time, at most; 0 = no samples. Once, at start. */
void gs_sample_init(double percent);

/* A profiler is there, or may be: no more samples. */
void gs_sample_stop(void);

/* The program makes a stream with which the legacy stream waits. */
void gs_sample_blocking_stream(void);

/* When the next one is due, in ticks. */
extern _Atomic uint64_t gs_sample_due;

/* Around the driver's call, by the same thread, which is inside. per_thread: what a stream of NULL means. The second one where
 * gs_thread.sample is not NULL, as soon as the driver has returned; launched: it succeeded. What it returns, if not
 * NULL, is for the third one: the kernel that it was, or NULL for nothing. */
struct gs_sample_pair;
void gs_sample_begin(CUstream handle, bool per_thread);
struct gs_sample_pair *gs_sample_end(CUstream handle, bool per_thread, bool launched, uint64_t end_ticks);
void gs_sample_of(struct gs_sample_pair *pair, struct gs_kernel_row *row);

/* The context has ended, and its events with it; while nobody is between gs_order_enter and gs_order_leave. */
void gs_sample_context_gone(CUcontext context);

/* The next launch gets one. */
static inline bool gs_sample_is_due(const struct gs_call *call)
{
	return __builtin_expect(call->start_ticks > atomic_load_explicit(&gs_sample_due, memory_order_relaxed), 0);
}

/* Before a launch. The time of the call does not hold what this costs. */
static inline void gs_sample_launch(struct gs_call *call, CUstream handle)
{
	if (gs_sample_is_due(call)) {
		gs_sample_begin(handle, gs_fn_info[call->fn].per_thread);
		call->start_ticks = gs_ticks();
	}
}

#endif
