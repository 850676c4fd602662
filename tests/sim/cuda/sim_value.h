/* Values in memory that streams wait for and write. */
#ifndef SIM_VALUE_H
#define SIM_VALUE_H

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_op.h"

/* CUDA_ERROR_INVALID_VALUE unless all of the operations of a batch make sense. */
CUresult sim_values_check(const CUstreamBatchMemOpParams *ops, unsigned count, unsigned flags);

/* One operation of a batch that was checked. */
struct sim_op *sim_value_op(const CUstreamBatchMemOpParams *params, struct sim_ctx *ctx);

#endif
