/* Rule: an event stands for its newest record at the time of the wait; one that was never recorded is complete. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUevent event, untimed;
	CUstream one, two;
	CUdeviceptr a, b;
	unsigned value = 0;
	float ms;

	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DEFAULT));
	NEED(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAlloc(&b, 64));
	WANT(cuEventQuery(event), CUDA_SUCCESS);
	WANT(cuEventSynchronize(event), CUDA_SUCCESS);
	WANT(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
	rule_delay(one, 10);
	rule_fill(one, a, 7, 16);
	NEED(cuEventRecord(event, one));
	NEED(cuStreamWaitEvent(two, event, 0));
	rule_delay(one, 1000);
	NEED(cuEventRecord(event, one));
	NEED(cuMemcpyDtoDAsync(b, a, 64, two));
	NEED(cuMemcpyDtoHAsync(&value, b, 4, two));
	WANT(value, 7);
	WANT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	NEED(cuEventSynchronize(event));
	WANT(cuEventQuery(event), CUDA_SUCCESS);
	NEED(cuEventRecord(untimed, one));
	NEED(cuStreamSynchronize(one));
	WANT(cuEventElapsedTime(&ms, event, untimed), CUDA_ERROR_INVALID_HANDLE);
	NEED(cuEventElapsedTime(&ms, event, event));
	NEED(cuEventDestroy(event));
	WANT(cuEventCreate(&event, 0x100), CUDA_ERROR_INVALID_VALUE);
	WANT(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
