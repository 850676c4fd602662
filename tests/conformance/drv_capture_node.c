/* Rule: a node is not destroyed while a capture into its graph is open: streams and events stand behind it. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUgraphNode nodes[2];
	CUdeviceptr memory;
	size_t count = 2;
	CUstream stream;
	CUgraph graph;

	rule_start();
	rule_simulator_only("what a driver makes of it is not known");
	NEED(cuMemAlloc(&memory, 64));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuMemsetD8Async(memory, 1, 64, stream));
	NEED(cuGraphGetNodes(graph, nodes, &count));
	WANT(count, 1);
	WANT(cuGraphDestroyNode(nodes[0]), CUDA_ERROR_NOT_SUPPORTED);
	NEED(cuMemsetD8Async(memory, 2, 64, stream));
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuGraphDestroyNode(nodes[0]));
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
