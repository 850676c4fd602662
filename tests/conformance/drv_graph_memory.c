/* Rule (H7): memory that a graph allocates and does not free belongs to the program from its launch on, at an address
 * that was fixed when the node was made; freed by the program, the next launch allocates it again there; not freed,
 * that launch is refused, unless the graph was instantiated to free it. Such a graph has one instance, and no clone. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)2 << 20)

static CUstream stream;

static unsigned char byte(CUdeviceptr address)
{
	unsigned char value = 0;

	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, address, 1));
	return value;
}

static CUgraph captured(CUdeviceptr *memory, unsigned char value, bool freed)
{
	CUgraph graph;

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemAllocAsync(memory, BYTES, stream));
	NEED(cuMemsetD8Async(*memory, value, BYTES, stream));
	if (freed)
		NEED(cuMemFreeAsync(*memory, stream));
	NEED(cuStreamEndCapture(stream, &graph));
	return graph;
}

static void not_freed(void)
{
	CUgraphExec exec, second;
	CUdeviceptr memory;
	CUgraphNode node;
	CUgraph graph = captured(&memory, 3, false), clone;
	size_t count = 1;

	WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	WANT(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
	WANT(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
	NEED(cuGraphGetNodes(graph, &node, &count));
	WANT(cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
	WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	for (int round = 0; round < 3; round++) {
		NEED(cuGraphLaunch(exec, stream));
		WANT(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
		WANT(byte(memory + BYTES - 1), 3);
		if (round == 1)
			NEED(cuMemFree(memory));
		else
			NEED(cuMemFreeAsync(memory, stream));
		WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	}
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	WANT(byte(memory), 3);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
}

static void freed_inside(void)
{
	CUgraphExec exec;
	CUdeviceptr memory;
	CUgraph graph = captured(&memory, 4, true);

	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < 3; round++)
		NEED(cuGraphLaunch(exec, stream));
	WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
}

/* The graph may go before its executable is launched. */
static void graph_gone(void)
{
	CUgraphExec exec;
	CUdeviceptr memory;
	CUgraph graph = captured(&memory, 9, true);

	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphDestroy(graph));
	for (int round = 0; round < 3; round++)
		NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuGraphExecDestroy(exec));
}

static void freed_by_launch(void)
{
	CUgraphExec exec;
	CUdeviceptr memory;
	CUgraph graph = captured(&memory, 5, false);
	cuuint64_t flags = 0;

	NEED(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	NEED(cuGraphExecGetFlags(exec, &flags));
	WANT(flags, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	for (int round = 0; round < 3; round++)
		NEED(cuGraphLaunch(exec, stream));
	WANT(byte(memory), 5);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuGraphLaunch(exec, stream));
	WANT(byte(memory), 5);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
}

static void freed_by_another_graph(void)
{
	CUgraphExec maker, freer;
	CUdeviceptr memory;
	CUgraph graph = captured(&memory, 6, false), second;

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamEndCapture(stream, &second));
	NEED(cuGraphInstantiateWithFlags(&maker, graph, 0));
	NEED(cuGraphInstantiateWithFlags(&freer, second, 0));
	for (int round = 0; round < 2; round++) {
		NEED(cuGraphLaunch(maker, stream));
		WANT(byte(memory), 6);
		NEED(cuGraphLaunch(freer, stream));
	}
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(maker));
	NEED(cuGraphExecDestroy(freer));
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(second));
}

static unsigned long long figure(CUgraphMem_attribute attribute)
{
	cuuint64_t value = 99;

	NEED(cuDeviceGetGraphMemAttribute(0, attribute, &value));
	return value;
}

static void figures(void)
{
	CUdeviceptr memory;
	CUgraphExec exec;
	CUgraph graph = captured(&memory, 7, false);

	NEED(cuDeviceGraphMemTrim(0));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	WANT(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= BYTES, 1);
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= BYTES, 1);
	NEED(cuDeviceGraphMemTrim(0));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= BYTES, 1);
	WANT(byte(memory), 7);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuDeviceGraphMemTrim(0));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	NEED(cuGraphLaunch(exec, stream));
	WANT(byte(memory), 7);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
}

int main(void)
{
	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	not_freed();
	freed_inside();
	graph_gone();
	freed_by_launch();
	freed_by_another_graph();
	figures();
	return rule_broken;
}
