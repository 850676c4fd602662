/* Rule: an event pulls a stream of another device into a capture; the graph then has nodes on both devices. */
#include "tests/conformance/rule_drv.h"

#define BYTES 4096u

int main(void)
{
	CUdeviceptr here, there;
	unsigned char value = 0;
	CUcontext first, second;
	CUstream one, two;
	CUevent forked, joined;
	CUgraphExec exec;
	int devices = 0;
	CUgraph graph;
	size_t count = 0;

	first = rule_start();
	NEED(cuDeviceGetCount(&devices));
	if (devices < 2) {
		printf("needs two devices\n");
		return 77;
	}
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&here, BYTES));
	NEED(cuDevicePrimaryCtxRetain(&second, 1));
	NEED(cuCtxSetCurrent(second));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&there, BYTES));
	NEED(cuCtxSetCurrent(first));

	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuMemsetD8Async(here, 1, BYTES, one));
	NEED(cuEventRecord(forked, one));
	NEED(cuCtxSetCurrent(second));
	NEED(cuStreamWaitEvent(two, forked, 0));
	NEED(cuMemsetD8Async(there, 2, BYTES, two));
	NEED(cuEventRecord(joined, two));
	NEED(cuCtxSetCurrent(first));
	NEED(cuStreamWaitEvent(one, joined, 0));
	NEED(cuStreamEndCapture(one, &graph));
	NEED(cuGraphGetNodes(graph, NULL, &count));
	WANT(count, 2);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, one));
	NEED(cuStreamSynchronize(one));
	NEED(cuMemcpyDtoH(&value, there, 1));
	WANT(value, 2);
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
