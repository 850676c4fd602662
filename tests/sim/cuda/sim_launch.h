/* A kernel launch, as the driver's public structure says it. */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_op.h"

/* The operation, with a copy of the parameters; or why there is none. */
CUresult sim_launch_op(const CUDA_KERNEL_NODE_PARAMS_v3 *launch, struct sim_op **ret_op);

/* Checks as sim_launch_op does, then makes kernelParams point to a copy, one allocation that the caller owns. */
CUresult sim_launch_keep(CUDA_KERNEL_NODE_PARAMS_v3 *launch, void **ret_owned);

#endif
