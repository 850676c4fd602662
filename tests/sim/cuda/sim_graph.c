/* Graphs: see sim_graph.h. */
#include "tests/sim/cuda/sim_graph.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_range.h"

struct node_memory {
	struct sim_range *range;
	bool freed; /* by a free node */
	struct node_memory *next;
};

struct sim_graph {
	struct node_memory *memory;
};

struct sim_graph *sim_graph_new(void)
{
	struct sim_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		abort();
	sim_handle_add(graph, SIM_KIND_GRAPH);
	return graph;
}

void sim_graph_free(struct sim_graph *graph)
{
	sim_handle_remove(graph);
	while (graph->memory) {
		struct node_memory *memory = graph->memory;

		graph->memory = memory->next;
		sim_range_free(memory->range);
		free(memory);
	}
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

CUresult sim_graph_alloc(struct sim_graph *graph, struct sim_device *device, size_t size_bytes,
			 CUdeviceptr *ret_pointer)
{
	struct node_memory *memory;
	uintptr_t start;

	if (!ret_pointer || size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	start = sim_pages_map(size_bytes);
	if (!start)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		abort();
	memory->range = sim_range_add(
	    (struct sim_range){.start = start, .size_bytes = size_bytes, .kind = SIM_RANGE_GRAPH, .device = device});
	memory->next = graph->memory;
	graph->memory = memory;
	*ret_pointer = start;
	return CUDA_SUCCESS;
}

CUresult sim_graph_release(struct sim_graph *graph, CUdeviceptr pointer)
{
	struct node_memory *memory = graph->memory;

	while (memory && memory->range->start != pointer)
		memory = memory->next;
	if (!memory || memory->freed)
		return CUDA_ERROR_INVALID_VALUE;
	memory->freed = true;
	return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *handle, unsigned flags)
{
	SIM_ENTER(cuGraphCreate);
	SIM_TRY(sim_ready());
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraph)sim_graph_new();
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct sim_graph *graph;

	SIM_ENTER(cuGraphDestroy);
	SIM_TRY(sim_graph_find(handle, &graph));
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}
