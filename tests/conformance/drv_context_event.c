/* Rule (H1): cuCtxRecordEvent covers all work of the context submitted before it, and cuCtxWaitEvent holds all later.
 */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUcontext context = rule_start();
	CUdeviceptr a;
	CUstream one, two;
	CUevent event;
	unsigned value = 0;

	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_DEFAULT));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&a, 64));
	rule_delay(one, 20);
	rule_delay(two, 20);
	NEED(cuCtxRecordEvent(context, event));
	WANT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	NEED(cuEventSynchronize(event));
	WANT(cuStreamQuery(one), CUDA_SUCCESS);
	WANT(cuStreamQuery(two), CUDA_SUCCESS);
	rule_delay(one, 20);
	rule_fill(one, a, 3, 16);
	NEED(cuEventRecord(event, one));
	NEED(cuCtxWaitEvent(context, event));
	NEED(cuMemcpyDtoHAsync(&value, a, 4, two));
	WANT(value, 3);
	return rule_broken;
}
