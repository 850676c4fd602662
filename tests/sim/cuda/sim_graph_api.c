/* The driver's functions about graphs as such: making, copying and ending them, their nodes and edges. */
#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_device.h"
#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_handle.h"

#include <stdlib.h>
#include <string.h>

CUresult cuGraphCreate(CUgraph *handle, unsigned flags)
{
	SIM_ENTER(cuGraphCreate);
	SIM_TRY(sim_ready());
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraph)sim_graph_new(false);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct sim_graph *graph;

	SIM_ENTER(cuGraphDestroy);
	SIM_TRY(sim_graph_find(handle, &graph));
	if (graph->parent)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *clone, CUgraph handle)
{
	struct sim_graph *graph;

	SIM_ENTER(cuGraphClone);
	SIM_TRY(sim_graph_find(handle, &graph));
	if (!clone)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_memory(graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	*clone = (CUgraph)sim_graph_clone(graph, false);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original_handle, CUgraph clone_handle)
{
	struct sim_node *original;
	struct sim_graph *clone;

	SIM_ENTER(cuGraphNodeFindInClone);
	SIM_TRY(sim_node_find(original_handle, &original));
	SIM_TRY(sim_graph_find(clone_handle, &clone));
	if (!ret_node)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < clone->node_count; i++) {
		if (clone->nodes[i]->origin == original->id) {
			*ret_node = (CUgraphNode)clone->nodes[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroyNode(CUgraphNode handle)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphDestroyNode);
	SIM_TRY(sim_node_find(handle, &node));
	if (sim_graph_has_memory(node->graph) || sim_capture_into(node->graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	sim_graph_remove(node);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphNodeGetType);
	SIM_TRY(sim_node_find(handle, &node));
	if (!type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->params.type;
	return CUDA_SUCCESS;
}

/* A list goes to an array of *count elements, which may be NULL; the rest of a larger array becomes NULL, and *count
 * how many there are, or were written. */
struct list {
	CUgraphNode *nodes, *others; /* others: the second column of edges */
	CUgraphEdgeData *edges;
	size_t room, count;
};

static void list_add(struct list *list, struct sim_node *node, struct sim_node *other)
{
	if (list->nodes && list->count < list->room) {
		list->nodes[list->count] = (CUgraphNode)node;
		if (list->others)
			list->others[list->count] = (CUgraphNode)other;
		if (list->edges)
			list->edges[list->count] = (CUgraphEdgeData){0};
	}
	list->count++;
}

static CUresult list_end(struct list *list, size_t *count)
{
	*count = list->nodes && list->room < list->count ? list->room : list->count;
	for (size_t i = *count; list->nodes && i < list->room; i++) {
		list->nodes[i] = NULL;
		if (list->others)
			list->others[i] = NULL;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct sim_graph *graph;
	struct list list;

	SIM_ENTER(cuGraphGetNodes);
	SIM_TRY(sim_graph_find(handle, &graph));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	list = (struct list){.nodes = nodes, .room = *count};
	for (unsigned i = 0; i < graph->node_count; i++)
		list_add(&list, graph->nodes[i], NULL);
	return list_end(&list, count);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct sim_graph *graph;
	struct list list;

	SIM_ENTER(cuGraphGetRootNodes);
	SIM_TRY(sim_graph_find(handle, &graph));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	list = (struct list){.nodes = nodes, .room = *count};
	for (unsigned i = 0; i < graph->node_count; i++) {
		if (graph->nodes[i]->after_count == 0)
			list_add(&list, graph->nodes[i], NULL);
	}
	return list_end(&list, count);
}

static CUresult edges_get(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count)
{
	struct sim_graph *graph;
	struct list list;

	SIM_TRY(sim_graph_find(handle, &graph));
	if (!count || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	list = (struct list){from, to, edges, *count, 0};
	for (unsigned i = 0; i < graph->node_count; i++) {
		for (unsigned j = 0; j < graph->nodes[i]->after_count; j++)
			list_add(&list, graph->nodes[i]->after[j], graph->nodes[i]);
	}
	return list_end(&list, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	SIM_ENTER(cuGraphGetEdges);
	return edges_get(graph, from, to, NULL, count);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count)
{
	SIM_ENTER(cuGraphGetEdges_v2);
	return edges_get(graph, from, to, edges, count);
}

static CUresult dependencies_get(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
	struct sim_node *node;
	struct list list;

	SIM_TRY(sim_node_find(handle, &node));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	list = (struct list){nodes, NULL, edges, *count, 0};
	for (unsigned i = 0; i < node->after_count; i++)
		list_add(&list, node->after[i], NULL);
	return list_end(&list, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	SIM_ENTER(cuGraphNodeGetDependencies);
	return dependencies_get(node, nodes, NULL, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
	SIM_ENTER(cuGraphNodeGetDependencies_v2);
	return dependencies_get(node, nodes, edges, count);
}

static CUresult dependents_get(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
	struct sim_node *node;
	struct list list;

	SIM_TRY(sim_node_find(handle, &node));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	list = (struct list){nodes, NULL, edges, *count, 0};
	for (unsigned i = 0; i < node->graph->node_count; i++) {
		if (sim_node_comes_after(node->graph->nodes[i], node))
			list_add(&list, node->graph->nodes[i], NULL);
	}
	return list_end(&list, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	SIM_ENTER(cuGraphNodeGetDependentNodes);
	return dependents_get(node, nodes, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
	SIM_ENTER(cuGraphNodeGetDependentNodes_v2);
	return dependents_get(node, nodes, edges, count);
}

/* All of them or none. */
static CUresult edges_check(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t count, bool there)
{
	struct sim_graph *graph;
	struct sim_node *first, *second;

	SIM_TRY(sim_graph_find(handle, &graph));
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		SIM_TRY(sim_node_find(from[i], &first));
		SIM_TRY(sim_node_find(to[i], &second));
		if (first->graph != graph || second->graph != graph || first == second ||
		    sim_node_comes_after(second, first) != there)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult edges_add(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	SIM_TRY(edges_check(graph, from, to, count, false));
	for (size_t i = 0; i < count; i++)
		sim_node_add_edge((struct sim_node *)from[i], (struct sim_node *)to[i]);
	return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	SIM_ENTER(cuGraphAddDependencies);
	return edges_add(graph, from, to, count);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t count)
{
	SIM_ENTER(cuGraphAddDependencies_v2);
	(void)edges;
	return edges_add(graph, from, to, count);
}

static CUresult edges_remove(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	SIM_TRY(edges_check(graph, from, to, count, true));
	if (count && sim_graph_has_memory((struct sim_graph *)graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count; i++)
		sim_node_remove_edge((struct sim_node *)from[i], (struct sim_node *)to[i]);
	return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	SIM_ENTER(cuGraphRemoveDependencies);
	return edges_remove(graph, from, to, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				      const CUgraphEdgeData *edges, size_t count)
{
	SIM_ENTER(cuGraphRemoveDependencies_v2);
	(void)edges;
	return edges_remove(graph, from, to, count);
}
