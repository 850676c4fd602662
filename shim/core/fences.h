/* The fences of the allocators (allocator/ops.h): a fence is a list of events, one per context that it covers. They are over all
 * devices, whichever is given. And the barrier that goes with a free. Thread-safe. */
#ifndef GS_CORE_FENCES_H
#define GS_CORE_FENCES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/ops.h"
#include "shim/api/cuda.h"
#include "shim/base/hot.h"

/* Before anything else; may be called again. */
void gs_fences_init(void);

/* As allocator/ops.h has them. */
int gs_fence_stream(void *user, const struct gsa_stream *stream, uint64_t *ret_fence);
int gs_fence_all(void *user, uint64_t *ret_fence);
int gs_fence_poll(void *user, uint64_t fence);
int gs_fence_wait(void *user, uint64_t fence);
void gs_fence_drop(void *user, uint64_t fence);

/* What a free does that is a command of its stream: gives the stream work that does nothing, which comes after what was given before
 * to the streams that CUDA keeps in order with it. On the legacy default stream, which is that of the calling thread's current
 * context, blocking streams go on after all that any of them was given before; on a blocking one whoever waits for it waits for
 * what the legacy one was given before. Left out where nothing was submitted since the last time; *mark is the caller's for this
 * stream, 0 at first. An error of the driver: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for the legacy stream while a blocking one
 * captures, which ends that capture, as any work does. */
CUresult gs_fence_barrier(const struct gsa_stream *stream, uint64_t *mark);

/* Whether there is nothing to do for that now. */
bool gs_fence_barrier_stands(const struct gsa_stream *stream, uint64_t mark);

/* What frees gave the stream, if anything: waits for it, or asks. Then it is no more. Errors are the driver's. */
CUresult gs_fence_command_wait(const struct gsa_stream *stream);
CUresult gs_fence_command_query(const struct gsa_stream *stream);

/* The stream ends. */
void gs_fence_command_ends(uint64_t stream_id);

/* The context is gone, and its streams and events with it. */
void gs_fences_context_gone(uint64_t context_id);

/* Streams that have some. */
extern GSB_OURS _Atomic unsigned gs_fence_command_count;

static inline bool gs_fence_commands(void)
{
	return atomic_load_explicit(&gs_fence_command_count, memory_order_acquire) != 0;
}

/* Asserts that these are all fences that there are, and that every event is one of theirs or waits to be used. No other
 * thread makes or drops any meanwhile. */
void gs_fences_check(const uint64_t *fences, size_t count);

#endif
