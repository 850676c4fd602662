/* Memory that allocation nodes of graphs make.
 *
 * The address is fixed when the node is made. Launching the graph allocates it, a free node, cuMemFreeAsync or
 * cuMemFree frees it, and the next launch allocates it again at the same address.
 *
 *   live     the host has launched its allocation and not yet its free
 *   chunk    it has physical bytes of the device, from a launch or upload until other memory takes them or a trim does
 *
 * Chunks stay when their memory goes. What is not live, and done or in the same stream, gives its chunk to what needs
 * one of that size. (Only the bytes are counted so: what memory holds is its own here.)
 *
 * Memory is held by its nodes, those of executable graphs included, and while it is live. */
#ifndef SIM_GRAPH_MEMORY_H
#define SIM_GRAPH_MEMORY_H

#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

struct sim_graph;
struct sim_chunk;

struct sim_graph_memory {
	struct sim_range *range;
	const struct sim_graph *graph; /* whose allocation node made it; only to be compared */
	const struct sim_graph *freer; /* that has a free node for it, likewise; NULL = none */
	bool live;
	struct sim_chunk *chunk; /* NULL = no physical bytes */
	unsigned refs;
	struct sim_graph_memory *next; /* in the list of all */
};

CUresult sim_graph_memory_new(const struct sim_graph *graph, struct sim_device *device, size_t size_bytes,
			      struct sim_graph_memory **ret_memory);
struct sim_graph_memory *sim_graph_memory_get(struct sim_graph_memory *memory);
void sim_graph_memory_put(struct sim_graph_memory *memory);

/* The memory that starts at the address; NULL when none does. */
struct sim_graph_memory *sim_graph_memory_find(uintptr_t address);

/* Sees to the physical bytes for a launch on that stream. CUDA_ERROR_OUT_OF_MEMORY when they are not there. The chunks
 * of one launch, which has a number of its own, are not taken from each other. */
CUresult sim_graph_memory_map(struct sim_graph_memory *memory, const struct sim_stream *stream, uint64_t launch);

/* The operations of its nodes; the memory is live or not from here on. */
struct sim_op *sim_graph_memory_alloc_op(struct sim_graph_memory *memory);
struct sim_op *sim_graph_memory_free_op(struct sim_graph_memory *memory);

/* Its alloc operation was submitted to the stream: to the shadow check it has a new owner. */
void sim_graph_memory_own(struct sim_graph_memory *memory, struct sim_stream *stream);

/* Its graph was launched, up to there. */
void sim_graph_memory_use(struct sim_graph_memory *memory, struct sim_point end);

/* cuMemFreeAsync: CUDA_ERROR_INVALID_VALUE when it is not live, or its own graph frees it. */
CUresult sim_graph_memory_free(struct sim_graph_memory *memory, struct sim_stream *stream);

#endif
