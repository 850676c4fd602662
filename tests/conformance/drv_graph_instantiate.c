/* Rule: which flags a graph can be instantiated with, and what WithParams reports; a graph without nodes can be
 * launched; launching and uploading elsewhere leave a capture alone; not so instantiating, destroying what can be
 * launched, and launching memory nodes on the capturing stream. */
#include <signal.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

static const char *volatile step = "start";
static CUstream stream, other;

/* A driver may die of a call. */
static void died(int number)
{
	(void)number;
	dprintf(STDOUT_FILENO, "the driver died in: %s\n", step);
	_exit(1);
}

static CUstreamCaptureStatus status_of(CUstream of)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)99;

	NEED(cuStreamIsCapturing(of, &status));
	return status;
}

static void flags(CUgraph graph)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, .hUploadStream = stream};
	cuuint64_t seen = 99;
	CUgraphExec exec;

	step = "an unknown flag";
	WANT(cuGraphInstantiateWithFlags(&exec, graph, 0x100), CUDA_ERROR_INVALID_VALUE);
	step = "device launch and automatic free";
	WANT(cuGraphInstantiateWithFlags(&exec, graph,
					 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
					     CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
	     CUDA_ERROR_INVALID_VALUE);
	step = "with parameters, upload";
	NEED(cuGraphInstantiateWithParams(&exec, graph, &params));
	WANT(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	step = "flags";
	NEED(cuGraphExecGetFlags(exec, &seen));
	WANT(seen, 0);
	step = "upload";
	NEED(cuGraphUpload(exec, stream));
	step = "launch";
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	step = "node priorities";
	NEED(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
	NEED(cuGraphExecDestroy(exec));
}

static CUgraph with_memory(void)
{
	CUdeviceptr memory;
	CUgraph graph;

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemAllocAsync(&memory, 4096, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamEndCapture(stream, &graph));
	return graph;
}

/* One call while the stream captures: what it gives, and whether the capture is valid afterwards. */
static void ask(const char *what, CUresult (*call)(CUgraph, CUgraphExec), CUgraph graph, CUgraphExec exec,
		CUresult wanted, CUstreamCaptureStatus wanted_status)
{
	CUgraph captured = NULL;

	step = what;
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(call(graph, exec), wanted);
	WANT(status_of(stream), wanted_status);
	if (rule_broken)
		printf("(%s)\n", what);
	(void)cuStreamEndCapture(stream, &captured);
	if (captured)
		NEED(cuGraphDestroy(captured));
}

static CUresult instantiate(CUgraph graph, CUgraphExec exec)
{
	return cuGraphInstantiateWithFlags(&exec, graph, 0);
}

static CUresult launch_beside(CUgraph graph, CUgraphExec exec)
{
	(void)graph;
	return cuGraphLaunch(exec, other);
}

static CUresult upload_beside(CUgraph graph, CUgraphExec exec)
{
	(void)graph;
	return cuGraphUpload(exec, other);
}

static CUresult launch_inside(CUgraph graph, CUgraphExec exec)
{
	(void)graph;
	return cuGraphLaunch(exec, stream);
}

static CUresult destroy(CUgraph graph, CUgraphExec exec)
{
	(void)graph;
	return cuGraphExecDestroy(exec);
}

#define FINE CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_ACTIVE
#define BREAKS CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_CAPTURE_STATUS_INVALIDATED

static void during_capture(CUgraph graph)
{
	CUgraph memory_graph = with_memory();
	CUgraphExec exec, memory_exec;

	step = "before captures";
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphInstantiateWithFlags(&memory_exec, memory_graph, 0));
	ask("instantiate during a capture", instantiate, graph, exec, BREAKS);
	ask("launch beside a capture", launch_beside, graph, exec, FINE);
	ask("upload beside a capture", upload_beside, graph, exec, FINE);
	ask("launch memory nodes beside a capture", launch_beside, graph, memory_exec, FINE);
	ask("launch memory nodes into a capture", launch_inside, graph, memory_exec, BREAKS);
	ask("destroy during a capture", destroy, graph, exec, BREAKS);
	step = "after captures";
	NEED(cuStreamSynchronize(other));
	NEED(cuGraphExecDestroy(memory_exec));
	NEED(cuGraphDestroy(memory_graph));
}

int main(void)
{
	CUgraph graph;

	rule_start();
	signal(SIGSEGV, died);
	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuGraphCreate(&graph, 0));
	flags(graph);
	during_capture(graph);
	step = "end";
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
