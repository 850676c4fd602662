/* Rule: cuGraphExecUpdate takes the parameters of a graph of the same shape, and says what differs in one of another
 * shape, or with another type of node; the executable graph is then as it was. */
#include "tests/conformance/rule_drv.h"

#define COUNT 256u

static CUdeviceptr memory;
static CUcontext context;
static CUstream stream;

static CUgraphNode set_add(CUgraph graph, CUgraphNode after, size_t offset, unsigned value)
{
	CUDA_MEMSET_NODE_PARAMS params = {memory + offset * 4, 0, value, 4, COUNT, 1};
	CUgraphNode node;

	NEED(cuGraphAddMemsetNode(&node, graph, after ? &after : NULL, after != NULL, &params, context));
	return node;
}

/* Two sets, the second after the first. */
static CUgraph pair(unsigned value)
{
	CUgraph graph;

	NEED(cuGraphCreate(&graph, 0));
	set_add(graph, set_add(graph, NULL, 0, value), COUNT, value);
	return graph;
}

static unsigned word(CUgraphExec exec, size_t offset)
{
	unsigned value = 0;

	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, memory + offset * 4, 4));
	return value;
}

static void refuse(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult result, int has_node)
{
	CUgraphExecUpdateResultInfo info = {0};

	WANT(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	WANT(info.result, result);
	WANT(info.errorNode != NULL, has_node);
	NEED(cuGraphDestroy(graph));
}

static CUgraph with_empty(void)
{
	CUgraphNode set, empty;
	CUgraph graph;

	NEED(cuGraphCreate(&graph, 0));
	set = set_add(graph, NULL, 0, 9);
	NEED(cuGraphAddEmptyNode(&empty, graph, &set, 1));
	return graph;
}

static CUgraph without_edge(void)
{
	CUgraph graph;

	NEED(cuGraphCreate(&graph, 0));
	set_add(graph, NULL, 0, 9);
	set_add(graph, NULL, COUNT, 9);
	return graph;
}

static CUgraph three(void)
{
	CUgraph graph = pair(9);

	set_add(graph, NULL, 0, 9);
	return graph;
}

int main(void)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUgraphExec exec;
	CUgraph first, second;

	context = rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&memory, 2 * COUNT * 4));
	first = pair(1);
	second = pair(2);
	NEED(cuGraphInstantiateWithFlags(&exec, first, 0));
	WANT(word(exec, COUNT), 1);
	NEED(cuGraphExecUpdate(exec, second, &info));
	WANT(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	WANT(word(exec, COUNT), 2);
	refuse(exec, three(), CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 0);
	refuse(exec, without_edge(), CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 1);
	refuse(exec, with_empty(), CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 1);
	WANT(word(exec, 0), 2);
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(first));
	NEED(cuGraphDestroy(second));
	return rule_broken;
}
