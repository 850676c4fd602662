/* A memset: one element pattern over rows, as the driver's public structure says it. */
#ifndef SIM_SET_H
#define SIM_SET_H

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_op.h"

/* CUDA_ERROR_INVALID_VALUE unless there is something to set and the device may write all of it. */
CUresult sim_set_check(const CUDA_MEMSET_NODE_PARAMS_v2 *set, const struct sim_device *device);

/* The operation, for parameters that were checked. */
struct sim_op *sim_set_op(const CUDA_MEMSET_NODE_PARAMS_v2 *set, struct sim_ctx *ctx);

#endif
