/* Graphs, as opaque handles: what a capture leaves behind. No node is kept, so none can be instantiated; what lives
 * with a graph is the addresses that its allocation nodes were given. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "tests/sim/cuda/sim_call.h"

struct sim_graph;

struct sim_graph *sim_graph_new(void);
void sim_graph_free(struct sim_graph *graph);

/* CUDA_ERROR_INVALID_VALUE when there is no such graph. */
CUresult sim_graph_find(CUgraph handle, struct sim_graph **ret_graph);

/* An allocation node: its address means nothing until the graph is launched. */
struct sim_device;
CUresult sim_graph_alloc(struct sim_graph *graph, struct sim_device *device, size_t size_bytes,
			 CUdeviceptr *ret_pointer);

/* A free node, of memory that an allocation node of this graph made; anything else is CUDA_ERROR_INVALID_VALUE. */
CUresult sim_graph_release(struct sim_graph *graph, CUdeviceptr pointer);

#endif
