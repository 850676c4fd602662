/* A copy of `depth` slices of `height` rows of `width` bytes between any two kinds of memory. */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "tests/sim/cuda/sim_range.h"

struct sim_copy_side {
	uintptr_t start;
	size_t pitch; /* from row to row */
	size_t slice; /* from slice to slice */
};

struct sim_copy_shape {
	struct sim_copy_side dst;
	struct sim_copy_side src;
	size_t width; /* bytes */
	size_t height;
	size_t depth;
};

/* The device of the stream needs access to both sides. */
CUresult sim_copy(const struct sim_copy_shape *shape, CUstream handle, bool per_thread, bool async);

/* The shape as the driver's public structure says it, and back. Arrays are CUDA_ERROR_NOT_SUPPORTED. */
CUresult sim_copy_from_3d(const CUDA_MEMCPY3D *c, struct sim_copy_shape *ret_shape);
void sim_copy_to_3d(const struct sim_copy_shape *shape, CUDA_MEMCPY3D *ret_c);

/* CUDA_ERROR_INVALID_VALUE unless there are bytes to copy and all of them are accessible by the device; NULL: by any.
 */
CUresult sim_copy_check(const struct sim_copy_shape *shape, const struct sim_device *device);

/* The operation, for a shape that was checked. */
struct sim_op *sim_copy_op(const struct sim_copy_shape *shape, struct sim_ctx *ctx);

#endif
