/* Rule (H4): cuMemFree waits for the work of the context, so a pinned copy before it has arrived. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	unsigned *pinned;
	CUstream stream;
	CUdeviceptr a;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAllocHost((void **)&pinned, 64));
	*pinned = 0;
	NEED(cuMemsetD32Async(a, 17, 16, stream));
	NEED(cuMemcpyDtoHAsync(pinned, a, 64, stream));
	NEED(cuMemFree(a));
	WANT(*pinned, 17);
	WANT(cuStreamQuery(stream), CUDA_SUCCESS);
	return rule_broken;
}
