/* A copy of `height` rows of `width` bytes between any two kinds of memory. */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "tests/sim/cuda/sim_range.h"

struct sim_copy2d {
	uintptr_t dst;
	size_t dst_pitch;
	uintptr_t src;
	size_t src_pitch;
	size_t width; /* bytes */
	size_t height;
};

CUresult sim_copy(const struct sim_copy2d *shape, CUstream handle, bool per_thread, bool async);

#endif
