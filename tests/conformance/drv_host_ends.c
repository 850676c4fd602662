/* Rule: pinned host memory dies with its context; until then any thread may free it, without a context too. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUcontext first, created;
	void *memory, *portable, *other;
	CUdeviceptr pointer;
	unsigned flags;

	first = rule_start();
	NEED(cuCtxCreate(&created, NULL, 0, 0));
	NEED(cuCtxPopCurrent(NULL));
	NEED(cuCtxSetCurrent(created));
	NEED(cuMemHostAlloc(&memory, 1 << 20, 0));
	NEED(cuMemHostAlloc(&portable, 1 << 20, CU_MEMHOSTALLOC_PORTABLE));
	NEED(cuMemHostAlloc(&other, 1 << 20, 0));
	NEED(cuCtxSetCurrent(first));
	NEED(cuMemFreeHost(other));
	NEED(cuCtxDestroy(created));
	WANT(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemFreeHost(portable), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostGetFlags(&flags, memory), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemHostAlloc(&memory, 1 << 20, 0));
	NEED(cuCtxSetCurrent(NULL));
	NEED(cuMemFreeHost(memory));
	WANT(cuMemHostAlloc(&other, 4096, 0), CUDA_ERROR_INVALID_CONTEXT);
	WANT(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
	NEED(cuCtxSetCurrent(first));
	NEED(cuMemFreeHost(NULL));
	WANT(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostGetFlags(&flags, memory), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostGetDevicePointer(&pointer, memory, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	return rule_broken;
}
