/* Graphs: see sim_graph.h. */
#include "tests/sim/cuda/sim_graph.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_device.h"
#include "tests/sim/cuda/sim_exec.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_node.h"
#include "tests/sim/cuda/sim_user_object.h"

static uint64_t next_id = 1;
static unsigned last_visit;

struct sim_graph *sim_graph_new(bool hidden)
{
	struct sim_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		abort();
	graph->hidden = hidden;
	if (!hidden)
		sim_handle_add(graph, SIM_KIND_GRAPH);
	return graph;
}

static void node_free(struct sim_node *node)
{
	if (!node->graph->hidden)
		sim_handle_remove(node);
	sim_node_clear(node);
	free(node->after);
	free(node);
}

void sim_graph_free(struct sim_graph *graph)
{
	if (!graph->hidden)
		sim_handle_remove(graph);
	if (graph->exec)
		graph->exec->source = NULL;
	for (unsigned i = 0; i < graph->node_count; i++)
		node_free(graph->nodes[i]);
	sim_user_object_drop_all(&graph->retained);
	free(graph->nodes);
	free(graph);
}

CUresult sim_graph_find(CUgraph handle, struct sim_graph **ret_graph)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = (struct sim_graph *)handle;
	return CUDA_SUCCESS;
}

CUresult sim_node_find(CUgraphNode handle, struct sim_node **ret_node)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = (struct sim_node *)handle;
	return CUDA_SUCCESS;
}

unsigned sim_graph_visit(void)
{
	return ++last_visit;
}

static struct sim_node *node_new(struct sim_graph *graph)
{
	struct sim_node *node = calloc(1, sizeof(*node));

	if (graph->node_count == graph->node_capacity) {
		graph->node_capacity = graph->node_capacity ? graph->node_capacity * 2 : 16;
		graph->nodes = realloc(graph->nodes, graph->node_capacity * sizeof(struct sim_node *));
	}
	if (!node || !graph->nodes)
		abort();
	node->graph = graph;
	node->id = next_id++;
	node->index = graph->node_count;
	graph->nodes[graph->node_count++] = node;
	return node;
}

static CUresult after_check(const struct sim_graph *graph, const CUgraphNode *after, size_t count)
{
	unsigned visit = sim_graph_visit();
	struct sim_node *other;

	if (count && !after)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		SIM_TRY(sim_node_find(after[i], &other));
		if (other->graph != graph || other->visit == visit)
			return CUDA_ERROR_INVALID_VALUE;
		other->visit = visit;
	}
	return CUDA_SUCCESS;
}

CUresult sim_graph_add(struct sim_graph *graph, const CUgraphNode *after, size_t count, CUgraphNodeParams *params,
		       struct sim_ctx *ctx, struct sim_node **ret_node)
{
	struct sim_node *node;
	CUresult result;

	SIM_TRY(after_check(graph, after, count));
	node = node_new(graph);
	result = sim_node_init(node, params, ctx);
	if (result != CUDA_SUCCESS) {
		graph->node_count--;
		free(node);
		return result;
	}
	node->after = malloc((count ? count : 1) * sizeof(struct sim_node *));
	if (!node->after)
		abort();
	if (count)
		memcpy(node->after, after, count * sizeof(struct sim_node *));
	node->after_count = (unsigned)count;
	sim_handle_add(node, SIM_KIND_NODE);
	*ret_node = node;
	return CUDA_SUCCESS;
}

bool sim_node_comes_after(const struct sim_node *node, const struct sim_node *other)
{
	for (unsigned i = 0; i < node->after_count; i++) {
		if (node->after[i] == other)
			return true;
	}
	return false;
}

void sim_node_add_edge(struct sim_node *from, struct sim_node *to)
{
	to->after = realloc(to->after, (to->after_count + 1) * sizeof(struct sim_node *));
	if (!to->after)
		abort();
	to->after[to->after_count++] = from;
}

void sim_node_remove_edge(struct sim_node *from, struct sim_node *to)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < to->after_count; i++) {
		if (to->after[i] != from)
			to->after[kept++] = to->after[i];
	}
	to->after_count = kept;
}

void sim_graph_remove(struct sim_node *node)
{
	struct sim_graph *graph = node->graph;

	graph->node_count--;
	for (unsigned i = node->index; i < graph->node_count; i++) {
		graph->nodes[i] = graph->nodes[i + 1];
		graph->nodes[i]->index = i;
	}
	for (unsigned i = 0; i < graph->node_count; i++)
		sim_node_remove_edge(node, graph->nodes[i]);
	node_free(node);
}

struct sim_graph *sim_graph_clone(const struct sim_graph *graph, bool hidden)
{
	struct sim_graph *clone = sim_graph_new(hidden);

	for (unsigned i = 0; i < graph->node_count; i++) {
		struct sim_node *node = node_new(clone);

		sim_node_copy(node, graph->nodes[i]);
		node->origin = graph->nodes[i]->id;
		if (!hidden)
			sim_handle_add(node, SIM_KIND_NODE);
	}
	for (unsigned i = 0; i < graph->node_count; i++) {
		for (unsigned j = 0; j < graph->nodes[i]->after_count; j++)
			sim_node_add_edge(clone->nodes[graph->nodes[i]->after[j]->index], clone->nodes[i]);
	}
	sim_user_object_retain_all(&clone->retained, graph->retained);
	return clone;
}

bool sim_graph_has_memory(const struct sim_graph *graph)
{
	for (unsigned i = 0; i < graph->node_count; i++) {
		const struct sim_node *node = graph->nodes[i];

		if (node->memory)
			return true;
		if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH &&
		    sim_graph_has_memory((struct sim_graph *)node->params.graph.graph))
			return true;
	}
	return false;
}
