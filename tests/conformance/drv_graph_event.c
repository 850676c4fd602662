/* Rule: an event node records the event of the program each time it runs, so the program can wait for it; a wait node
 * waits for the record that was newest at the launch. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)64 << 20)

int main(void)
{
	CUdeviceptr a, b;
	CUstream one, two;
	CUevent done, before, answer;
	CUgraphNode set, record;
	unsigned char value = 0;
	CUgraphExec exec, waiter;
	CUcontext context = rule_start();
	CUgraph graph, waits;

	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&a, BYTES));
	NEED(cuMemAlloc(&b, BYTES));
	NEED(cuMemsetD8(a, 1, BYTES));
	NEED(cuMemsetD8(b, 1, BYTES));
	NEED(cuCtxSynchronize());

	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphAddMemsetNode(&set, graph, NULL, 0, &(CUDA_MEMSET_NODE_PARAMS){a, 0, 5, 1, BYTES, 1}, context));
	NEED(cuGraphAddEventRecordNode(&record, graph, &set, 1, done));
	NEED(cuGraphEventRecordNodeGetEvent(record, &answer));
	WANT(answer == done, 1);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	WANT(cuEventQuery(done), CUDA_SUCCESS);
	for (int round = 0; round < 2; round++) {
		NEED(cuMemsetD8Async(a, 1, BYTES, one));
		NEED(cuGraphLaunch(exec, one));
		NEED(cuStreamWaitEvent(two, done, 0));
		NEED(cuMemcpyDtoHAsync(&value, a + BYTES - 1, 1, two));
		NEED(cuStreamSynchronize(two));
		WANT(value, 5);
		NEED(cuEventSynchronize(done));
		NEED(cuStreamSynchronize(one));
		WANT(cuEventQuery(done), CUDA_SUCCESS);
	}

	NEED(cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuStreamWaitEvent(two, before, CU_EVENT_WAIT_EXTERNAL));
	NEED(cuMemcpyDtoDAsync(b, a, BYTES, two));
	NEED(cuEventRecordWithFlags(done, two, CU_EVENT_RECORD_EXTERNAL));
	NEED(cuStreamEndCapture(two, &waits));
	NEED(cuGraphInstantiateWithFlags(&waiter, waits, 0));
	for (unsigned round = 1; round < 3; round++) {
		NEED(cuMemsetD8Async(a, (unsigned char)(round * 10), BYTES, one));
		NEED(cuEventRecord(before, one));
		NEED(cuGraphLaunch(waiter, two));
		NEED(cuStreamWaitEvent(one, done, 0));
		NEED(cuMemsetD8Async(a, 1, BYTES, one));
		NEED(cuStreamSynchronize(two));
		NEED(cuMemcpyDtoH(&value, b + BYTES - 1, 1));
		WANT(value, round * 10);
	}
	NEED(cuStreamSynchronize(one));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphExecDestroy(waiter));
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(waits));
	return rule_broken;
}
