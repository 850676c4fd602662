/* The fences of the allocators (allocator/ops.h): a fence is a list of events, one per context that it covers. They are over all
 * devices, whichever is given. And the barrier that goes with a free on the legacy default stream. Thread-safe. */
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

/* Gives the legacy default stream, of the calling thread's current context, work that does nothing: blocking streams go on after all
 * that any of them was given before. Left out where nothing was submitted since the last time. An error of the driver:
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT while a blocking stream captures, which ends that capture, as any work for the legacy
 * stream does. */
CUresult gs_fence_barrier(const struct gsa_stream *legacy);

/* Asserts that these are all fences that there are, and that every event is one of theirs or waits to be used. No other
 * thread makes or drops any meanwhile. */
void gs_fences_check(const uint64_t *fences, size_t count);

#endif
