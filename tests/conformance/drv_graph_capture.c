/* Rule: what is captured becomes nodes; each comes after what was captured before it on its stream and after the events
 * that its stream waited for. A launch of that graph moves the bytes. A launch cannot be captured. */
#include "tests/conformance/rule_drv.h"

#define BYTES 4096u

static CUstream one, two;
static CUevent fork_event, join_event;
static CUdeviceptr a, b;

static size_t count_of(CUgraph graph, bool roots)
{
	size_t count = 0;

	if (roots)
		NEED(cuGraphGetRootNodes(graph, NULL, &count));
	else
		NEED(cuGraphGetNodes(graph, NULL, &count));
	return count;
}

static size_t info(CUstream stream, const CUgraphNode **nodes, CUgraph *graph)
{
	CUstreamCaptureStatus status;
	size_t count = 99;
	cuuint64_t id;

#if CUDA_VERSION >= 13000
	NEED(cuStreamGetCaptureInfo(stream, &status, &id, graph, nodes, NULL, &count));
#else
	NEED(cuStreamGetCaptureInfo(stream, &status, &id, graph, nodes, &count));
#endif
	return count;
}

static unsigned char byte(CUdeviceptr address)
{
	unsigned char value = 0;

	NEED(cuMemcpyDtoH(&value, address, 1));
	return value;
}

/* Sets a on one; two, forked, copies it to b; one, joined, sets a again. */
static CUgraph capture(void)
{
	const CUgraphNode *nodes;
	CUgraph graph, seen;

	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(info(one, &nodes, &seen), 0);
	NEED(cuMemsetD8Async(a, 5, BYTES, one));
	WANT(info(one, &nodes, &seen), 1);
	WANT(count_of(seen, false), 1);
	NEED(cuEventRecord(fork_event, one));
	NEED(cuStreamWaitEvent(two, fork_event, 0));
	WANT(info(two, &nodes, &seen), 1);
	NEED(cuMemcpyDtoDAsync(b, a, BYTES, two));
	NEED(cuEventRecord(join_event, two));
	NEED(cuMemsetD8Async(a + BYTES, 6, BYTES, one));
	NEED(cuStreamWaitEvent(one, join_event, 0));
	WANT(info(one, &nodes, &seen), 2);
	NEED(cuMemsetD8Async(a, 7, BYTES, one));
	NEED(cuStreamEndCapture(one, &graph));
	WANT(graph == seen, 1);
	return graph;
}

static void update_dependencies(void)
{
	const CUgraphNode *nodes;
	CUgraphNode empty;
	CUgraph graph;

	WANT(cuStreamUpdateCaptureDependencies(one, NULL,
#if CUDA_VERSION >= 13000
					       NULL,
#endif
					       0, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
	     CUDA_ERROR_ILLEGAL_STATE);
	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemsetD8Async(a, 5, BYTES, one));
	WANT(info(one, &nodes, &graph), 1);
	NEED(cuGraphAddEmptyNode(&empty, graph, nodes, 1));
	NEED(cuStreamUpdateCaptureDependencies(one, &empty,
#if CUDA_VERSION >= 13000
					       NULL,
#endif
					       1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	WANT(info(one, &nodes, &graph), 1);
	WANT(nodes[0] == empty, 1);
	NEED(cuMemsetD8Async(a, 7, BYTES, one));
	NEED(cuStreamEndCapture(one, &graph));
	WANT(count_of(graph, false), 3);
	WANT(rule_edges(graph), 2);
	NEED(cuGraphDestroy(graph));
}

static void launch_refused(CUgraphExec exec, CUstreamCaptureMode mode)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)99;
	CUgraph graph = NULL;

	NEED(cuStreamBeginCapture(one, mode));
	WANT(cuGraphLaunch(exec, one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	NEED(cuStreamIsCapturing(one, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	WANT(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	if (graph)
		NEED(cuGraphDestroy(graph));
}

int main(void)
{
	CUgraphExec exec;
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&a, 2 * BYTES));
	NEED(cuMemAlloc(&b, BYTES));
	NEED(cuMemsetD8(a, 1, 2 * BYTES));
	NEED(cuMemsetD8(b, 1, BYTES));
	NEED(cuCtxSynchronize());
	graph = capture();
	WANT(count_of(graph, false), 4);
	WANT(count_of(graph, true), 1);
	WANT(rule_edges(graph), 4);
	WANT(byte(a), 1);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < 3; round++) {
		NEED(cuMemsetD8Async(b, 0, BYTES, two));
		NEED(cuStreamSynchronize(two));
		NEED(cuGraphLaunch(exec, two));
		NEED(cuStreamSynchronize(two));
		WANT(byte(a), 7);
		WANT(byte(a + BYTES), 6);
		WANT(byte(b), 5);
	}
	launch_refused(exec, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch_refused(exec, CU_STREAM_CAPTURE_MODE_RELAXED);
	update_dependencies();
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
