/* Rule: nodes and edges of a graph: what is refused when it is made (other graphs' nodes, one dependency twice, edges
 * that are there or not there, circles), what is counted, and that a clone and its nodes are others. */
#include "tests/conformance/rule_drv.h"

static CUgraph graph, other;
static CUgraphNode a, b, c, alien, node;

static size_t nodes_of(CUgraph of)
{
	size_t count = 0;

	NEED(cuGraphGetNodes(of, NULL, &count));
	return count;
}

static CUresult edge_add(CUgraphNode from, CUgraphNode to)
{
#if CUDA_VERSION >= 13000
	return cuGraphAddDependencies(graph, &from, &to, NULL, 1);
#else
	return cuGraphAddDependencies(graph, &from, &to, 1);
#endif
}

static CUresult edge_remove(CUgraphNode from, CUgraphNode to)
{
#if CUDA_VERSION >= 13000
	return cuGraphRemoveDependencies(graph, &from, &to, NULL, 1);
#else
	return cuGraphRemoveDependencies(graph, &from, &to, 1);
#endif
}

static void refused(void)
{
	CUgraphNode twice[] = {a, a}, foreign[] = {alien};

	WANT(cuGraphCreate(&other, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuGraphAddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
	WANT(cuGraphAddEmptyNode(&node, graph, foreign, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuGraphAddEmptyNode(&node, graph, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuGraphAddEmptyNode(NULL, graph, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(edge_add(a, a), CUDA_ERROR_INVALID_VALUE);
	WANT(edge_add(a, b), CUDA_ERROR_INVALID_VALUE);
	WANT(edge_add(a, alien), CUDA_ERROR_INVALID_VALUE);
	WANT(edge_remove(a, c), CUDA_ERROR_INVALID_VALUE);
	WANT(nodes_of(graph), 3);
}

static void circle(void)
{
	CUgraphExec exec = NULL;
	CUresult added = edge_add(b, a);

	if (added == CUDA_SUCCESS) {
		WANT(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
		NEED(edge_remove(b, a));
	} else {
		WANT(added, CUDA_SUCCESS);
	}
}

int main(void)
{
	CUgraphNode list[4], found = NULL;
	CUgraphNodeType type;
	size_t count = 4;
	CUgraph clone;

	rule_start();
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphCreate(&other, 0));
	NEED(cuGraphAddEmptyNode(&alien, other, NULL, 0));
	NEED(cuGraphAddEmptyNode(&a, graph, NULL, 0));
	NEED(cuGraphAddEmptyNode(&b, graph, &a, 1));
	NEED(cuGraphAddEmptyNode(&c, graph, &b, 1));
	refused();
	circle();

	NEED(cuGraphGetRootNodes(graph, list, &count));
	WANT(count, 1);
	WANT(list[0] == a, 1);
	WANT(list[1] == NULL, 1);
	count = 2;
	NEED(cuGraphGetNodes(graph, list, &count));
	WANT(count, 2);
	WANT(rule_edges(graph), 2);
	NEED(cuGraphNodeGetType(c, &type));
	WANT(type, CU_GRAPH_NODE_TYPE_EMPTY);

	NEED(cuGraphClone(&clone, graph));
	WANT(nodes_of(clone), 3);
	NEED(cuGraphNodeFindInClone(&found, b, clone));
	WANT(found != b && found != NULL, 1);
	WANT(cuGraphNodeFindInClone(&node, alien, clone), CUDA_ERROR_INVALID_VALUE);

	NEED(cuGraphDestroyNode(b));
	WANT(nodes_of(graph), 2);
	WANT(rule_edges(graph), 0);
	WANT(nodes_of(clone), 3);
	NEED(edge_add(a, c));
	WANT(rule_edges(graph), 1);
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(clone));
	NEED(cuGraphDestroy(other));
	return rule_broken;
}
