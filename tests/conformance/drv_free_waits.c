/* Rule (H4): cuMemFree waits for the work of the context, so a pinned copy before it has arrived, and a host function was called;
 * also while a stream captures that has nothing to do with it. */
#include "tests/conformance/rule_drv.h"

static volatile int called;

static void function(void *unused)
{
	(void)unused;
	called = 1;
}

int main(void)
{
	CUstream stream, capturing;
	volatile unsigned *pinned;
	CUdeviceptr a, b;
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAlloc(&b, 64));
	NEED(cuMemAllocHost((void **)&pinned, 64));
	*pinned = 0;
	NEED(cuMemsetD32Async(a, 17, 16, stream));
	NEED(cuMemcpyDtoHAsync((void *)pinned, a, 64, stream));
	NEED(cuMemFree(a));
	WANT(*pinned, 17);
	WANT(cuStreamQuery(stream), CUDA_SUCCESS);

	NEED(cuMemAlloc(&a, 64));
	rule_delay(stream, 100);
	NEED(cuLaunchHostFunc(stream, function, NULL));
	NEED(cuMemFree(a));
	WANT(called, 1);

	*pinned = 0;
	NEED(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemsetD32(b, 18, 16));
	NEED(cuCtxSynchronize());
	NEED(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuMemcpyDtoHAsync((void *)pinned, b, 64, stream));
	NEED(cuMemFree(a));
	WANT(*pinned, 18);
	NEED(cuStreamEndCapture(capturing, &graph));
	return rule_broken;
}
