/* Every way to free memory once a kernel has failed. argv[1]: "none", no capture is open; "here", one is in the broken
 * context; "apart", one is in a context that is whole, and so is the memory. */
#include <string.h>

#include "tests/conformance/rule_drv.h"

enum { SIZE_BYTES = 1 << 20 };

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

/* Its error is noticed before this returns. */
static void fail(void)
{
	unsigned code = CUDA_ERROR_ILLEGAL_ADDRESS;
	void *params[] = {&code};
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuLaunchKernel(rule_kernel("sim_fail"), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
		;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	bool apart = strcmp(what, "apart") == 0, captures = strcmp(what, "none") != 0;
	CUcontext broken = rule_start(), whole;
	CUdeviceptr plain[2], ordered[2];
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream stream, capturing;
	CUgraph graph = NULL;
	void *pinned;

	NEED(cuCtxCreate_v2(&whole, 0, 0));
	NEED(cuCtxSetCurrent(apart ? whole : broken));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 2; i++) {
		NEED(cuMemAlloc(&plain[i], SIZE_BYTES));
		NEED(cuMemAllocAsync(&ordered[i], SIZE_BYTES, stream));
	}
	NEED(cuMemAllocHost(&pinned, SIZE_BYTES));
	NEED(cuThreadExchangeStreamCaptureMode(&relaxed));
	if (captures) {
		NEED(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
		NEED(cuMemsetD8Async(plain[0], 1, 64, capturing));
	}
	NEED(cuCtxSetCurrent(broken));
	fail();
	NEED(cuCtxSetCurrent(apart ? whole : broken));
	printf("cuMemFree: %d\n", cuMemFree(plain[0]));
	printf("cuMemFree of ordered memory: %d\n", cuMemFree(ordered[0]));
	printf("cuMemFreeAsync: %d\n", cuMemFreeAsync(ordered[1], stream));
	printf("cuMemFreeAsync of plain memory: %d\n", cuMemFreeAsync(plain[1], stream));
	printf("cuMemFreeHost: %d\n", cuMemFreeHost(pinned));
	if (captures)
		printf("the capture ends: %d\n", cuStreamEndCapture(capturing, &graph));
	return rule_broken;
}
