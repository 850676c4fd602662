/* Addresses among the parameters of a launch: 64-bit words of its parameters that may be pointers, found by the layout that the
 * driver knows of each function (shim/core/params.h). Parameters larger than GS_ARGS_LARGEST are passed over: they are tables of which
 * only a part is filled in, with what was there before in the rest. */
#ifndef GS_WATCH_ARGS_H
#define GS_WATCH_ARGS_H

#include <stdint.h>

#include "shim/api/cuda.h"

#define GS_ARGS_LARGEST 640u

/* Returns how many there are; at most capacity. kernel_params, extra: as in cuLaunchKernel. */
unsigned gs_args_addresses(CUfunction function, void *const *kernel_params, void *const *extra, uint64_t *addresses,
			   unsigned capacity);

#endif
