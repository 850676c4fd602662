/* Executable graphs.
 *
 * An executable graph is a hidden clone of a graph and a plan: its nodes in an order that respects the edges, those of
 * child graphs between a step that enters the child and one that leaves it. The plan puts chains of nodes on lanes,
 * streams that no program sees. A launch queues one operation on the launching stream that waits for its turn, the
 * nodes on the lanes after what they depend on, and one more on the launching stream that waits for all of them. So the
 * scheduler treats a node as it treats any operation, and nodes without an edge between them run in any order.
 *
 * It lives until it was destroyed and its launches are complete. */
#ifndef SIM_EXEC_H
#define SIM_EXEC_H

#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_stream.h"

struct sim_step {
	struct sim_node *node;
	bool leaves;	/* the second of the two steps of a child graph */
	bool followed;	/* something comes after it */
	unsigned lane;	/* index in exec->lanes */
	unsigned edges; /* index in plan->edges of the first step that it comes after */
	unsigned edge_count;
	struct sim_point point; /* of the last launch; without a reference: the lane is ours */
};

struct sim_plan {
	struct sim_step *steps;
	unsigned count, capacity;
	unsigned *edges;
	unsigned edge_count, edge_capacity;
};

/* CUDA_ERROR_INVALID_VALUE when the edges form a circle: ret_node is in it. */
CUresult sim_plan_make(struct sim_plan *plan, struct sim_graph *graph, struct sim_node **ret_node);
void sim_plan_free(struct sim_plan *plan);

struct sim_exec {
	struct sim_graph *graph;  /* the clone */
	struct sim_graph *source; /* whose only instance this is; NULL = none such */
	unsigned long long flags;
	struct sim_plan plan;
	struct sim_stream **lanes;
	unsigned lane_count;
	struct sim_point last; /* the end of the last launch; holds a reference */
	unsigned refs;	       /* the handle, and launches under way */
};

CUresult sim_exec_new(struct sim_graph *graph, unsigned long long flags, struct sim_exec **ret_exec,
		      struct sim_node **ret_error_node);
CUresult sim_exec_find(CUgraphExec handle, struct sim_exec **ret_exec);

/* The handle is gone. */
void sim_exec_destroy(struct sim_exec *exec);

/* Sees to the physical bytes of the memory nodes, for a launch on that stream. */
CUresult sim_exec_map(struct sim_exec *exec, const struct sim_stream *stream);

CUresult sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream);

/* The step's node for a node of the graph that this was made from, or of a child graph in there. */
CUresult sim_exec_node(struct sim_exec *exec, CUgraphNode handle, struct sim_node **ret_node);

#endif
