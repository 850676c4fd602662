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

CUresult sim_copy(const struct sim_copy_shape *shape, CUstream handle, bool per_thread, bool async);

#endif
