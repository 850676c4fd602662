/* Rule: before cuInit every call answers NOT_INITIALIZED; after it, what needs a context answers INVALID_CONTEXT. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUdeviceptr pointer;
	CUstream stream;
	CUdevice device;
	int count;

	WANT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	WANT(cuMemAlloc(&pointer, 64), CUDA_ERROR_NOT_INITIALIZED);
	WANT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	NEED(cuInit(0));
	NEED(cuInit(0));
	WANT(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
	WANT(cuDeviceGet(&device, 4096), CUDA_ERROR_INVALID_DEVICE);
	WANT(cuMemAlloc(&pointer, 64), CUDA_ERROR_INVALID_CONTEXT);
	WANT(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
	WANT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	WANT(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
	return rule_broken;
}
