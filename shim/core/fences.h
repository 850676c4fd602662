/* The fences of the allocators (allocator/ops.h): a fence is a list of events, one per context that it covers. They are over all
 * devices, whichever is given. And the barrier that goes with a free. Thread-safe. */
#ifndef GS_CORE_FENCES_H
#define GS_CORE_FENCES_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/ops.h"
#include "shim/api/cuda.h"

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

/* Asserts that these are all fences that there are, and that every event is one of theirs or waits to be used. No other
 * thread makes or drops any meanwhile. */
void gs_fences_check(const uint64_t *fences, size_t count);

#endif
