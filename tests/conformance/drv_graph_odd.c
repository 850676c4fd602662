/* Rule: what a capture makes of rare calls: callbacks and prefetches are refused and break it, copies from and to
 * pageable memory are recorded, a stream that was forked and did nothing is joined. Freeing memory of no graph is
 * refused. A capture can go into a graph that the program made. */
#include "tests/conformance/rule_drv.h"

static CUstream one, two, three;
static CUevent event, second_event;
static CUdeviceptr memory, managed, pooled;
static unsigned char pageable[4096];

static void CUDA_CB called(CUstream stream, CUresult result, void *data)
{
	(void)stream, (void)result;
	*(int *)data += 1;
}

static CUresult callback(void)
{
	static int calls;

	return cuStreamAddCallback(one, called, &calls, 0);
}

static CUresult prefetch(void)
{
#if CUDA_VERSION >= 13000
	return cuMemPrefetchAsync(managed, 4096, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, one);
#else
	return cuMemPrefetchAsync(managed, 4096, 0, one);
#endif
}

static CUresult from_pageable(void)
{
	return cuMemcpyHtoDAsync(memory, pageable, sizeof(pageable), one);
}

static CUresult to_pageable(void)
{
	return cuMemcpyDtoHAsync(pageable, memory, sizeof(pageable), one);
}

static CUresult free_foreign(void)
{
	return cuMemFreeAsync(pooled, one);
}

static CUresult synchronous_copy(void)
{
	return cuMemcpyDtoH(pageable, memory, sizeof(pageable));
}

static CUresult forked_idle(void)
{
	NEED(cuMemsetD8Async(memory, 1, 4096, one));
	NEED(cuEventRecord(event, one));
	return cuStreamWaitEvent(two, event, 0);
}

static CUresult forked_twice_idle(void)
{
	NEED(cuMemsetD8Async(memory, 1, 4096, one));
	NEED(cuEventRecord(event, one));
	NEED(cuStreamWaitEvent(two, event, 0));
	NEED(cuEventRecord(second_event, two));
	return cuStreamWaitEvent(three, second_event, 0);
}

static CUresult forked_from_nothing(void)
{
	NEED(cuEventRecord(event, one));
	return cuStreamWaitEvent(two, event, 0);
}

static void ask(const char *what, CUresult (*call)(void), CUresult wanted, CUstreamCaptureStatus wanted_status,
		CUresult wanted_end)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)99;
	CUresult result, end;
	CUgraph graph = NULL;

	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	result = call();
	NEED(cuStreamIsCapturing(one, &status));
	end = cuStreamEndCapture(one, &graph);
	if (result != wanted || status != wanted_status || end != wanted_end) {
		printf("%s: gives %d, then the status is %d and the end %d; not %d, %d, %d\n", what, (int)result,
		       (int)status, (int)end, (int)wanted, (int)wanted_status, (int)wanted_end);
		rule_broken = 1;
	}
	if (graph)
		NEED(cuGraphDestroy(graph));
}

#define RECORDED CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_SUCCESS
#define BREAKS(result) result, CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED

static void to_graph(void)
{
	CUgraphNode first, *none = NULL;
	size_t count = 0;
	CUgraph graph, ended;

	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphAddEmptyNode(&first, graph, NULL, 0));
	WANT(cuStreamBeginCaptureToGraph(CU_STREAM_LEGACY, graph, none, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL),
	     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	NEED(cuStreamBeginCaptureToGraph(one, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemsetD8Async(memory, 1, 4096, one));
	NEED(cuStreamEndCapture(one, &ended));
	WANT(ended == graph, 1);
	NEED(cuGraphGetNodes(graph, NULL, &count));
	WANT(count, 2);
	NEED(cuGraphGetRootNodes(graph, NULL, &count));
	WANT(count, 1);
	NEED(cuGraphDestroy(graph));
}

int main(void)
{
	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&three, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&second_event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&memory, 4096));
	NEED(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	NEED(cuMemAllocAsync(&pooled, 4096, one));
	NEED(cuStreamSynchronize(one));
	ask("a callback", callback, BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
	ask("a prefetch", prefetch, BREAKS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
	ask("a copy from pageable memory", from_pageable, RECORDED);
	ask("a copy to pageable memory", to_pageable, RECORDED);
	ask("a free of memory that is no graph's", free_foreign, CUDA_ERROR_INVALID_VALUE,
	    CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_SUCCESS);
	ask("a synchronous copy", synchronous_copy, RECORDED);
	ask("an idle fork", forked_idle, RECORDED);
	ask("an idle fork of a fork", forked_twice_idle, RECORDED);
	ask("an idle fork before the first node", forked_from_nothing, RECORDED);
	to_graph();
	NEED(cuMemFreeAsync(pooled, one));
	NEED(cuStreamSynchronize(one));
	return rule_broken;
}
