/* Executable graphs: see sim_exec.h. */
#include "tests/sim/cuda/sim_exec.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_node.h"

#define NO_STEP ((unsigned)-1)
#define NO_LANE ((unsigned)-1)

/* --- Plans */

static unsigned step_add(struct sim_plan *plan, struct sim_node *node, bool leaves)
{
	if (plan->count == plan->capacity) {
		plan->capacity = plan->capacity ? plan->capacity * 2 : 16;
		plan->steps = realloc(plan->steps, plan->capacity * sizeof(*plan->steps));
		if (!plan->steps)
			abort();
	}
	plan->steps[plan->count] = (struct sim_step){.node = node, .leaves = leaves, .edges = plan->edge_count};
	return plan->count++;
}

/* The newest step comes after that one. */
static void edge_add(struct sim_plan *plan, unsigned from)
{
	if (plan->edge_count == plan->edge_capacity) {
		plan->edge_capacity = plan->edge_capacity ? plan->edge_capacity * 2 : 16;
		plan->edges = realloc(plan->edges, plan->edge_capacity * sizeof(*plan->edges));
		if (!plan->edges)
			abort();
	}
	plan->edges[plan->edge_count++] = from;
	plan->steps[from].followed = true;
	plan->steps[plan->count - 1].edge_count++;
}

static CUresult plan_graph(struct sim_plan *plan, struct sim_graph *graph, unsigned enter, struct sim_node **ret_node);

static CUresult plan_child(struct sim_plan *plan, struct sim_node *node, struct sim_node **ret_node)
{
	struct sim_graph *child = (struct sim_graph *)node->params.graph.graph;
	unsigned enter = plan->count - 1;

	SIM_TRY(plan_graph(plan, child, enter, ret_node));
	node->flat = step_add(plan, node, true);
	if (child->node_count == 0)
		edge_add(plan, enter);
	for (unsigned i = 0; i < child->node_count; i++) {
		if (!plan->steps[child->nodes[i]->flat].followed)
			edge_add(plan, child->nodes[i]->flat);
	}
	return CUDA_SUCCESS;
}

static CUresult plan_node(struct sim_plan *plan, struct sim_node *node, unsigned enter, unsigned active,
			  struct sim_node **ret_node)
{
	unsigned done = active + 1;

	if (node->visit == done)
		return CUDA_SUCCESS;
	if (node->visit == active) {
		*ret_node = node;
		return CUDA_ERROR_INVALID_VALUE;
	}
	node->visit = active;
	for (unsigned i = 0; i < node->after_count; i++)
		SIM_TRY(plan_node(plan, node->after[i], enter, active, ret_node));
	node->visit = done;
	node->flat = step_add(plan, node, false);
	for (unsigned i = 0; i < node->after_count; i++)
		edge_add(plan, node->after[i]->flat);
	if (node->after_count == 0 && enter != NO_STEP)
		edge_add(plan, enter);
	return node->params.type == CU_GRAPH_NODE_TYPE_GRAPH ? plan_child(plan, node, ret_node) : CUDA_SUCCESS;
}

static CUresult plan_graph(struct sim_plan *plan, struct sim_graph *graph, unsigned enter, struct sim_node **ret_node)
{
	unsigned active = sim_graph_visit();

	sim_graph_visit();
	for (unsigned i = 0; i < graph->node_count; i++)
		SIM_TRY(plan_node(plan, graph->nodes[i], enter, active, ret_node));
	return CUDA_SUCCESS;
}

CUresult sim_plan_make(struct sim_plan *plan, struct sim_graph *graph, struct sim_node **ret_node)
{
	CUresult result;

	*plan = (struct sim_plan){0};
	result = plan_graph(plan, graph, NO_STEP, ret_node);
	if (result != CUDA_SUCCESS)
		sim_plan_free(plan);
	return result;
}

void sim_plan_free(struct sim_plan *plan)
{
	free(plan->steps);
	free(plan->edges);
	*plan = (struct sim_plan){0};
}

/* --- Life */

/* A step takes the lane of something that it comes after, if that is the last one there, or a new one. */
static void lanes_assign(struct sim_exec *exec)
{
	struct sim_plan *plan = &exec->plan;
	unsigned *tails = calloc(plan->count ? plan->count : 1, sizeof(*tails));

	exec->lanes = calloc(plan->count ? plan->count : 1, sizeof(struct sim_stream *));
	if (!tails || !exec->lanes)
		abort();
	for (unsigned i = 0; i < plan->count; i++) {
		struct sim_step *step = &plan->steps[i];

		step->lane = NO_LANE;
		for (unsigned j = 0; j < step->edge_count && step->lane == NO_LANE; j++) {
			unsigned before = plan->edges[step->edges + j];
			unsigned lane = plan->steps[before].lane;

			if (tails[lane] == before && exec->lanes[lane]->ctx == step->node->ctx)
				step->lane = lane;
		}
		if (step->lane == NO_LANE) {
			step->lane = exec->lane_count++;
			exec->lanes[step->lane] = sim_stream_new_lane(step->node->ctx);
		}
		tails[step->lane] = i;
	}
	free(tails);
}

CUresult sim_exec_new(struct sim_graph *graph, unsigned long long flags, struct sim_exec **ret_exec,
		      struct sim_node **ret_error_node)
{
	bool has_memory = sim_graph_has_memory(graph);
	struct sim_node *in_clone;
	struct sim_plan plan;
	struct sim_exec *exec;

	if (has_memory && graph->exec)
		return CUDA_ERROR_NOT_SUPPORTED;
	SIM_TRY(sim_plan_make(&plan, graph, ret_error_node));
	sim_plan_free(&plan);
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		abort();
	exec->graph = sim_graph_clone(graph, true);
	exec->flags = flags;
	exec->refs = 1;
	if (has_memory) {
		exec->source = graph;
		graph->exec = exec;
	}
	SIM_TRY(sim_plan_make(&exec->plan, exec->graph, &in_clone));
	lanes_assign(exec);
	sim_handle_add(exec, SIM_KIND_EXEC);
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult sim_exec_find(CUgraphExec handle, struct sim_exec **ret_exec)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_exec = (struct sim_exec *)handle;
	return CUDA_SUCCESS;
}

static void exec_put(struct sim_exec *exec)
{
	if (--exec->refs)
		return;
	for (unsigned i = 0; i < exec->lane_count; i++)
		sim_stream_put(exec->lanes[i]);
	if (exec->last.stream)
		sim_stream_put(exec->last.stream);
	sim_graph_free(exec->graph);
	sim_plan_free(&exec->plan);
	free(exec->lanes);
	free(exec);
}

void sim_exec_destroy(struct sim_exec *exec)
{
	sim_handle_remove(exec);
	if (exec->source)
		exec->source->exec = NULL;
	exec->source = NULL;
	exec_put(exec);
}

CUresult sim_exec_node(struct sim_exec *exec, CUgraphNode handle, struct sim_node **ret_node)
{
	struct sim_node *node;

	SIM_TRY(sim_node_find(handle, &node));
	if (node->index < exec->graph->node_count && exec->graph->nodes[node->index]->origin == node->id) {
		*ret_node = exec->graph->nodes[node->index];
		return CUDA_SUCCESS;
	}
	for (unsigned i = 0; i < exec->plan.count; i++) {
		if (exec->plan.steps[i].node->origin == node->id) {
			*ret_node = exec->plan.steps[i].node;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* --- Launches */

/* What a launch frees must be live by then, and what it allocates must not. */
static CUresult memory_check(const struct sim_exec *exec)
{
	bool auto_free = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

	for (unsigned i = 0; i < exec->plan.count; i++) {
		const struct sim_node *node = exec->plan.steps[i].node;

		if (!node->memory)
			continue;
		if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && node->memory->live && !auto_free)
			return CUDA_ERROR_INVALID_VALUE;
		if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE && !node->memory->live &&
		    node->memory->graph != node->memory->freer)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* First those that have their bytes from an earlier launch. */
CUresult sim_exec_map(struct sim_exec *exec, const struct sim_stream *stream)
{
	static uint64_t launch;

	launch++;
	for (int fresh = 0; fresh < 2; fresh++) {
		for (unsigned i = 0; i < exec->plan.count; i++) {
			const struct sim_node *node = exec->plan.steps[i].node;

			if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && (node->memory->chunk == NULL) == fresh)
				SIM_TRY(sim_graph_memory_map(node->memory, stream, launch));
		}
	}
	return CUDA_SUCCESS;
}

static void memory_free_live(struct sim_exec *exec, struct sim_stream *stream)
{
	for (unsigned i = 0; i < exec->plan.count; i++) {
		const struct sim_node *node = exec->plan.steps[i].node;

		if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && node->memory->live)
			sim_stream_submit(stream, sim_graph_memory_free_op(node->memory));
	}
}

/* Where the driver is free to choose, so are we: which of several things an operation is seen to wait for first. */
static unsigned choose(unsigned count)
{
	static uint64_t state;

	if (count < 2 || sim_conf()->policy == SIM_IN_ORDER)
		return 0;
	if (!state)
		state = sim_conf()->seed * 0xD1B54A32D192ED03ull + 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state % count);
}

static void step_submit(struct sim_exec *exec, struct sim_step *step, struct sim_point begin)
{
	struct sim_stream *lane = exec->lanes[step->lane];
	bool child = step->node->params.type == CU_GRAPH_NODE_TYPE_GRAPH;
	unsigned count = child ? 1 : sim_node_op_count(step->node);
	unsigned first = choose(step->edge_count);

	if (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)
		lane->priority = step->node->priority;
	for (unsigned number = 0; number < count; number++) {
		struct sim_op *op = child ? sim_op_new(SIM_OP_WAIT, 0) : sim_node_op(step->node, number, lane);

		if (number == 0 && step->edge_count == 0)
			sim_op_after(op, begin);
		for (unsigned i = 0; number == 0 && i < step->edge_count; i++) {
			unsigned edge = exec->plan.edges[step->edges + (first + i) % step->edge_count];

			if (exec->plan.steps[edge].lane != step->lane)
				sim_op_after(op, exec->plan.steps[edge].point);
		}
		step->point = sim_stream_submit(lane, op);
	}
	if (step->node->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		sim_graph_memory_own(step->node->memory, lane);
}

static void end_drop(struct sim_op *op)
{
	exec_put(*(struct sim_exec **)op->payload);
}

static struct sim_op *end_op(struct sim_exec *exec, struct sim_point begin)
{
	struct sim_op *op = sim_op_new(SIM_OP_WAIT, sizeof(exec));
	unsigned first = choose(exec->plan.count);

	*(struct sim_exec **)op->payload = exec;
	op->drop = end_drop;
	exec->refs++;
	sim_op_after(op, begin);
	for (unsigned i = 0; i < exec->plan.count; i++) {
		const struct sim_step *step = &exec->plan.steps[(first + i) % exec->plan.count];

		if (!step->followed)
			sim_op_after(op, step->point);
	}
	return op;
}

CUresult sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream)
{
	struct sim_op *begin = sim_op_new(SIM_OP_WAIT, 0);
	struct sim_point point;
	CUresult result = memory_check(exec);

	if (result == CUDA_SUCCESS)
		result = sim_exec_map(exec, stream);
	if (result != CUDA_SUCCESS) {
		sim_op_free(begin);
		return result;
	}
	memory_free_live(exec, stream);
	sim_op_after(begin, exec->last);
	point = sim_stream_submit(stream, begin);
	for (unsigned i = 0; i < exec->lane_count; i++)
		exec->lanes[i]->priority = stream->priority;
	for (unsigned i = 0; i < exec->plan.count; i++)
		step_submit(exec, &exec->plan.steps[i], point);
	exec->refs++;
	point = sim_stream_submit(stream, end_op(exec, point));
	sim_stream_get(point.stream);
	if (exec->last.stream)
		sim_stream_put(exec->last.stream);
	exec->last = point;
	for (unsigned i = 0; i < exec->plan.count; i++) {
		if (exec->plan.steps[i].node->memory)
			sim_graph_memory_use(exec->plan.steps[i].node->memory, point);
	}
	exec_put(exec);
	return CUDA_SUCCESS;
}
