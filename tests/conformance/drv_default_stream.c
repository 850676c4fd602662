/* Rule: the legacy default stream waits for blocking streams and they for it; non-blocking streams take no part. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUstream blocking, free_running;
	CUdeviceptr a, b;
	unsigned value = 0;

	rule_start();
	NEED(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	NEED(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAlloc(&b, 64));
	rule_delay(free_running, 100000);
	rule_delay(blocking, 5);
	rule_fill(blocking, a, 11, 16);
	NEED(cuMemcpyDtoDAsync(b, a, 64, NULL));
	rule_fill(blocking, a, 22, 16);
	NEED(cuMemcpyDtoDAsync(a, b, 64, NULL));
	NEED(cuMemcpyDtoH(&value, a, 4));
	WANT(value, 11);
	WANT(cuStreamQuery(blocking), CUDA_SUCCESS);
	WANT(cuStreamQuery(free_running), CUDA_ERROR_NOT_READY);
	NEED(cuMemcpyDtoHAsync(&value, b, 4, CU_STREAM_LEGACY));
	NEED(cuStreamSynchronize(free_running));
	WANT(cuStreamQuery(free_running), CUDA_SUCCESS);
	return rule_broken;
}
