/* Places in graphs: see sim_place.h. */
#include "tests/sim/cuda/sim_place.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_graph.h"

CUresult sim_place_given(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count,
			 struct sim_place *ret_place)
{
	struct sim_node *node;

	if (count && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		SIM_TRY(sim_node_find(nodes[i], &node));
		if (node->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	*ret_place = (struct sim_place){(struct sim_node **)nodes, (unsigned)count};
	return CUDA_SUCCESS;
}

struct sim_place sim_place_copy(const struct sim_place *place)
{
	struct sim_place copy = {malloc((place->count ? place->count : 1) * sizeof(struct sim_node *)), place->count};

	if (!copy.nodes)
		abort();
	if (place->count)
		memcpy(copy.nodes, place->nodes, place->count * sizeof(struct sim_node *));
	return copy;
}

void sim_place_clear(struct sim_place *place)
{
	free(place->nodes);
	*place = (struct sim_place){NULL, 0};
}

void sim_place_set(struct sim_place *place, struct sim_node *node)
{
	place->nodes = realloc(place->nodes, sizeof(node));
	if (!place->nodes)
		abort();
	place->nodes[0] = node;
	place->count = 1;
}

void sim_place_add(struct sim_place *place, const struct sim_place *more)
{
	for (unsigned i = 0; i < more->count; i++) {
		unsigned j = 0;

		while (j < place->count && place->nodes[j] != more->nodes[i])
			j++;
		if (j < place->count)
			continue;
		place->nodes = realloc(place->nodes, (place->count + 1) * sizeof(struct sim_node *));
		if (!place->nodes)
			abort();
		place->nodes[place->count++] = more->nodes[i];
	}
}

/* Marks what comes before a node, and the node. */
static void mark(struct sim_node *node, unsigned visit)
{
	while (node->visit != visit) {
		node->visit = visit;
		if (node->after_count == 0)
			return;
		for (unsigned i = 1; i < node->after_count; i++)
			mark(node->after[i], visit);
		node = node->after[0];
	}
}

bool sim_place_covers(const struct sim_place *place, const struct sim_place *earlier)
{
	unsigned visit = sim_graph_visit();

	for (unsigned i = 0; i < place->count; i++)
		mark(place->nodes[i], visit);
	for (unsigned i = 0; i < earlier->count; i++) {
		if (earlier->nodes[i]->visit != visit)
			return false;
	}
	return true;
}
