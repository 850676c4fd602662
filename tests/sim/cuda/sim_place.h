/* A place in a graph: between some nodes and what comes after them. A stream that captures has one, and an event that
 * was recorded there. */
#ifndef SIM_PLACE_H
#define SIM_PLACE_H

#include "tests/sim/cuda/sim_call.h"

struct sim_graph;
struct sim_node;

struct sim_place {
	struct sim_node **nodes; /* owned, except where a program's own list is looked at */
	unsigned count;
};

/* Looks at a list that a program gave: nodes of that graph, or CUDA_ERROR_INVALID_VALUE. */
CUresult sim_place_given(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count,
			 struct sim_place *ret_place);

struct sim_place sim_place_copy(const struct sim_place *place);
void sim_place_clear(struct sim_place *place);

/* After this node; after what it was after, and those. */
void sim_place_set(struct sim_place *place, struct sim_node *node);
void sim_place_add(struct sim_place *place, const struct sim_place *more);

/* Everything at the second place comes before the first. */
bool sim_place_covers(const struct sim_place *place, const struct sim_place *earlier);

#endif
