/* Memory pools: stream-ordered allocation.
 *
 *   reserved = whole pages of all blocks, live and cached;  used = bytes asked for of the live ones
 *
 * A freed block is cached with the point of its free. It is given out again on the stream of the free at once,
 * elsewhere when that point has been reached; blocks are never split. Cached blocks above the release threshold go
 * back to the device when the host synchronises, and all reached ones when the device runs out. Size 0 is granted as
 * address 0. */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

/* Frees a live range of a pool in the order of the stream; without a stream at once. CUDA_ERROR_INVALID_VALUE when it
 * was already freed. */
CUresult sim_pool_free(struct sim_range *range, struct sim_stream *stream);

/* The host has synchronised: every pool keeps at most its release threshold. */
void sim_pool_settle(void);

#endif
