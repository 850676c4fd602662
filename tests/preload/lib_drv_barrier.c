/* A library that works on a stream which it is given, or makes, by functions that it looks up itself, or is linked to where it makes
 * the stream: tests/preload/drv_barrier.c. */
#include <dlfcn.h>
#include <stddef.h>

#include "tests/preload/barrier.h"

int write_by_library(const struct barrier_work *work)
{
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
			   void **) = cuLaunchKernel;
	unsigned steps = 2000;
	struct barrier_work own = *work;
	void *delay[] = {&steps}, *fill[] = {&own.to, &own.value, &own.words};
	CUresult result = CUDA_SUCCESS;

	if (own.stream == NULL)
		result = cuStreamCreate(&own.stream, CU_STREAM_DEFAULT);
	else
		*(void **)&launch = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
	if (result == CUDA_SUCCESS && own.late)
		result = launch(own.delay, 1, 1, 1, 1, 1, 1, 0, own.stream, delay, NULL);
	if (result == CUDA_SUCCESS)
		result = launch(own.fill, 1, 1, 1, 1, 1, 1, 0, own.stream, fill, NULL);
	return (int)result;
}
