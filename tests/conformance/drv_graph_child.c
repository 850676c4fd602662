/* Rule: a child graph node runs a copy of the child as it was; the copy can be read and its nodes changed in the
 * executable graph; it is not the program's to destroy. A graph with memory nodes cannot be copied into a node. */
#include "tests/conformance/rule_drv.h"

#define COUNT 256u

static CUdeviceptr memory;
static CUcontext context;
static CUstream stream;

static unsigned word(size_t offset)
{
	unsigned value = 0;

	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, memory + offset * 4, 4));
	return value;
}

static CUgraphNode set_add(CUgraph graph, CUgraphNode after, size_t offset, unsigned value)
{
	CUDA_MEMSET_NODE_PARAMS params = {memory + offset * 4, 0, value, 4, COUNT, 1};
	CUgraphNode node;

	NEED(cuGraphAddMemsetNode(&node, graph, after ? &after : NULL, after != NULL, &params, context));
	return node;
}

static CUgraph with_memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
	    .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
	    .bytesize = 1 << 20};
	CUgraphNode node;
	CUgraph graph;

	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	WANT(params.dptr != 0, 1);
	NEED(cuGraphAddMemFreeNode(&node, graph, &node, 1, params.dptr));
	WANT(cuGraphAddMemFreeNode(&node, graph, &node, 1, params.dptr), CUDA_ERROR_INVALID_VALUE);
	WANT(cuGraphAddMemFreeNode(&node, graph, NULL, 0, memory), CUDA_ERROR_INVALID_VALUE);
	return graph;
}

int main(void)
{
	CUDA_MEMSET_NODE_PARAMS other;
	CUgraphNode before, child, after, inner, refused;
	CUgraph graph, source, copy, memory_graph;
	size_t count = 1;
	CUgraphExec exec;

	context = rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&memory, 3 * COUNT * 4));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphCreate(&source, 0));
	set_add(source, NULL, COUNT, 2);
	before = set_add(graph, NULL, 0, 1);
	NEED(cuGraphAddChildGraphNode(&child, graph, &before, 1, source));
	after = set_add(graph, child, COUNT * 2, 3);
	set_add(source, NULL, 0, 99);
	NEED(cuGraphDestroy(source));
	NEED(cuGraphChildGraphNodeGetGraph(child, &copy));
	NEED(cuGraphGetNodes(copy, &inner, &count));
	WANT(count, 1);
	WANT(cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(0), 1);
	WANT(word(COUNT), 2);
	WANT(word(2 * COUNT), 3);
	other = (CUDA_MEMSET_NODE_PARAMS){memory + COUNT * 4, 0, 22, 4, COUNT, 1};
	NEED(cuGraphExecMemsetNodeSetParams(exec, inner, &other, context));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(COUNT), 22);
	memory_graph = with_memory();
	WANT(cuGraphAddChildGraphNode(&refused, graph, &after, 1, memory_graph), CUDA_ERROR_NOT_SUPPORTED);
	NEED(cuGraphDestroy(memory_graph));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
