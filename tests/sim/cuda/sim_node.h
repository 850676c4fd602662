/* What the types of graph nodes mean: which parameters are valid, what is copied of them, which operations they are. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_op.h"

/* Checks the parameters and copies them, and what they point to, into a new node, which is left alone when they are
 * refused. `ctx` is where it runs unless the parameters name a context. */
CUresult sim_node_init(struct sim_node *node, CUgraphNodeParams *params, struct sim_ctx *ctx);

/* Other parameters for a node that has some; of the same type. */
CUresult sim_node_set(struct sim_node *node, const CUgraphNodeParams *params);

/* The parameters and attributes of another node, for a new one. */
void sim_node_copy(struct sim_node *node, const struct sim_node *from);

/* Gives back what the parameters hold. */
void sim_node_clear(struct sim_node *node);

/* A node is one operation, or as many as a batch has, made and submitted to the stream one by one. Freed and allocated
 * memory counts as such, and an event as recorded, from here on. */
unsigned sim_node_op_count(const struct sim_node *node);
struct sim_op *sim_node_op(const struct sim_node *node, unsigned number, struct sim_stream *stream);

#endif
