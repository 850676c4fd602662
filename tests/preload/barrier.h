/* What drv_barrier asks lib_drv_barrier to do. */
#ifndef BARRIER_H
#define BARRIER_H

#include <cuda.h>

struct barrier_work {
	CUfunction delay, fill;
	CUstream stream; /* NULL: a blocking one that the library makes */
	CUdeviceptr to;
	unsigned value;
	unsigned long long words;
	int late;
};

int write_by_library(const struct barrier_work *work);

#endif
