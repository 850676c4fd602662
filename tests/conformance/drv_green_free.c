/* Rule (H1): memory that is freed in the order of a green context's stream is free when that stream has come so far, whatever other
 * contexts were waited for. */
#include "tests/conformance/rule_drv.h"

#define WORDS 4096ull
#define BYTES ((size_t)64 << 20)

static CUcontext green(void)
{
	CUdevResourceDesc description;
	CUdevResource resource;
	CUcontext context;
	CUgreenCtx made;

	if (cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
		exit(77);
	NEED(cuDevResourceGenerateDesc(&description, &resource, 1));
	NEED(cuGreenCtxCreate(&made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	NEED(cuCtxFromGreenCtx(&context, made));
	return context;
}

static CUstream stream_in(CUcontext context)
{
	CUstream stream;

	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

int main(void)
{
	CUcontext one, other;
	CUstream first, second;
	CUdeviceptr memory, next;
	unsigned value = 0;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	NEED(cuInit(0));
	one = green();
	other = green();
	second = stream_in(other);
	rule_kernel("sim_fill");
	NEED(cuCtxSynchronize());
	first = stream_in(one);
	NEED(cuMemAllocAsync(&memory, BYTES, first));
	NEED(cuStreamSynchronize(first));
	NEED(cuCtxSetCurrent(other));
	rule_delay(second, 2000);
	rule_fill(second, memory, 1, WORDS);
	NEED(cuMemFreeAsync(memory, second));
	NEED(cuCtxSetCurrent(one));
	NEED(cuCtxSynchronize());
	NEED(cuMemAllocAsync(&next, BYTES, first));
	NEED(cuMemsetD32Async(next, 2, WORDS, first));
	NEED(cuCtxSynchronize());
	NEED(cuCtxSetCurrent(other));
	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH(&value, next, sizeof(value)));
	WANT(value, 2);
	return rule_broken;
}
