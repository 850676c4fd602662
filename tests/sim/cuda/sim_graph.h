/* Graphs: nodes with parameters, and the edges between them.
 *
 * A node keeps its parameters in the driver's own public structure (CUgraphNodeParams), whichever function made it: an
 * Add function of its type, the generic one, or a capture. sim_node.c knows what the types mean; here they are opaque.
 * An executable graph (sim_exec.h) runs a clone, so what is launched does not change with the graph.
 *
 * Nodes are in graph->nodes in the order in which they were added, and nodes[i]->index is i. Edges lead from a node to
 * those that it comes after; nothing keeps them from forming a circle before the graph is instantiated. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "tests/sim/cuda/sim_call.h"

struct sim_ctx;
struct sim_exec;
struct sim_graph_memory;
struct sim_retained;

struct sim_node {
	struct sim_graph *graph;
	uint64_t id;	 /* unique in the process, never reused */
	uint64_t origin; /* the id of the node that this one is a clone of; 0 = none */
	unsigned index;
	CUgraphNodeParams params;	 /* a child graph in it is owned */
	void *owned;			 /* what params point to; NULL = nothing */
	struct sim_ctx *ctx;		 /* where it runs */
	struct sim_graph_memory *memory; /* of allocation and free nodes; holds a reference */
	int priority;			 /* of kernel nodes, as asked for */
	int cooperative;		 /* likewise */
	bool disabled;			 /* in an executable graph */
	struct sim_node **after;	 /* owned */
	unsigned after_count;
	unsigned visit; /* scratch of walks: see sim_graph_visit */
	unsigned flat;	/* scratch of sim_exec.c */
};

struct sim_graph {
	bool hidden;		 /* not to be found by handle, nor its nodes: an executable graph's */
	struct sim_node *parent; /* the child graph node that owns it; NULL = none */
	struct sim_node **nodes;
	unsigned node_count;
	unsigned node_capacity;
	struct sim_exec *exec;	       /* the one instance, if it has memory nodes */
	struct sim_retained *retained; /* user objects, see sim_user_object.h */
};

struct sim_graph *sim_graph_new(bool hidden);
void sim_graph_free(struct sim_graph *graph);

/* CUDA_ERROR_INVALID_VALUE when there is no such graph, or node. */
CUresult sim_graph_find(CUgraph handle, struct sim_graph **ret_graph);
CUresult sim_node_find(CUgraphNode handle, struct sim_node **ret_node);

/* Adds a node after others of the same graph, which must differ. Allocation nodes write their address to params. */
CUresult sim_graph_add(struct sim_graph *graph, const CUgraphNode *after, size_t count, CUgraphNodeParams *params,
		       struct sim_ctx *ctx, struct sim_node **ret_node);
void sim_graph_remove(struct sim_node *node);

bool sim_node_comes_after(const struct sim_node *node, const struct sim_node *other);
void sim_node_add_edge(struct sim_node *from, struct sim_node *to);
void sim_node_remove_edge(struct sim_node *from, struct sim_node *to);

/* A deep copy, child graphs included. Memory nodes keep their memory: the caller sees to it that this is allowed. */
struct sim_graph *sim_graph_clone(const struct sim_graph *graph, bool hidden);

/* Any allocation or free node, in child graphs too. */
bool sim_graph_has_memory(const struct sim_graph *graph);

/* A number that no node's `visit` holds yet. */
unsigned sim_graph_visit(void);

#endif
