/* Types of nodes: see sim_node.h. External semaphores and conditional nodes are not simulated. */
#include "tests/sim/cuda/sim_node.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_copy.h"
#include "tests/sim/cuda/sim_event.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_host.h"
#include "tests/sim/cuda/sim_launch.h"
#include "tests/sim/cuda/sim_set.h"
#include "tests/sim/cuda/sim_value.h"

static CUresult ctx_choose(CUcontext handle, struct sim_ctx **ctx)
{
	if (!handle)
		return CUDA_SUCCESS;
	if (!sim_handle_is(handle, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = (struct sim_ctx *)handle;
	return CUDA_SUCCESS;
}

static CUresult copy_node(const CUDA_MEMCPY_NODE_PARAMS *params, struct sim_ctx **ctx)
{
	struct sim_copy_shape shape;

	SIM_TRY(ctx_choose(params->copyCtx, ctx));
	SIM_TRY(sim_copy_from_3d(&params->copyParams, &shape));
	return sim_copy_check(&shape, *ctx ? (*ctx)->device : NULL);
}

static CUresult set_node(const CUDA_MEMSET_NODE_PARAMS_v2 *params, struct sim_ctx **ctx)
{
	SIM_TRY(ctx_choose(params->ctx, ctx));
	return sim_set_check(params, *ctx ? (*ctx)->device : NULL);
}

static CUresult values_node(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *params, struct sim_ctx **ctx, void **owned)
{
	size_t size_bytes = params->count * sizeof(*params->paramArray);

	SIM_TRY(ctx_choose(params->ctx, ctx));
	if (params->count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_values_check(params->paramArray, params->count, params->flags));
	*owned = malloc(size_bytes);
	if (!*owned)
		abort();
	memcpy(*owned, params->paramArray, size_bytes);
	params->paramArray = *owned;
	return CUDA_SUCCESS;
}

/* What can be set again. The parameters are a copy that owned values replace in. */
static CUresult params_keep(CUgraphNodeParams *params, struct sim_ctx **ctx, void **owned)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		SIM_TRY(ctx_choose(params->kernel.ctx, ctx));
		return sim_launch_keep(&params->kernel, owned);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_node(&params->memcpy, ctx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_node(&params->memset, ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return sim_handle_is(params->eventWait.event, SIM_KIND_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return sim_handle_is(params->eventRecord.event, SIM_KIND_EVENT) ? CUDA_SUCCESS
										: CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return values_node(&params->memOp, ctx, owned);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult alloc_init(struct sim_node *node, CUgraphNodeParams *params)
{
	struct sim_device *device;

	if (params->alloc.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    params->alloc.poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
	    params->alloc.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_device_get(params->alloc.poolProps.location.id, &device));
	SIM_TRY(sim_graph_memory_new(node->graph, device, params->alloc.bytesize, &node->memory));
	params->alloc.dptr = node->memory->range->start;
	return CUDA_SUCCESS;
}

static CUresult free_init(struct sim_node *node, const CUgraphNodeParams *params)
{
	struct sim_graph_memory *memory = sim_graph_memory_find(params->free.dptr);

	if (!memory || memory->freer)
		return CUDA_ERROR_INVALID_VALUE;
	memory->freer = node->graph;
	node->memory = sim_graph_memory_get(memory);
	return CUDA_SUCCESS;
}

/* A moved graph stays the same object, which the program may still read. */
static CUresult child_init(struct sim_node *node, CUgraphNodeParams *params)
{
	bool move = params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	struct sim_graph *child;

	SIM_TRY(sim_graph_find(params->graph.graph, &child));
	if (params->graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE && !move)
		return CUDA_ERROR_INVALID_VALUE;
	if (child->parent && move)
		return CUDA_ERROR_INVALID_VALUE;
	if (!move) {
		if (sim_graph_has_memory(child))
			return CUDA_ERROR_NOT_SUPPORTED;
		child = sim_graph_clone(child, false);
	}
	child->parent = node;
	params->graph.graph = (CUgraph)child;
	return CUDA_SUCCESS;
}

CUresult sim_node_init(struct sim_node *node, CUgraphNodeParams *params, struct sim_ctx *ctx)
{
	CUgraphNodeParams kept = *params;

	node->ctx = ctx;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_EMPTY:
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		SIM_TRY(alloc_init(node, params));
		kept = *params;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		SIM_TRY(free_init(node, params));
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		SIM_TRY(child_init(node, &kept));
		break;
	default:
		SIM_TRY(params_keep(&kept, &node->ctx, &node->owned));
	}
	node->params = kept;
	return CUDA_SUCCESS;
}

CUresult sim_node_set(struct sim_node *node, const CUgraphNodeParams *params)
{
	CUgraphNodeParams kept = *params;
	struct sim_ctx *ctx = node->ctx;
	void *owned = NULL;

	if (params->type != node->params.type)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(params_keep(&kept, &ctx, &owned));
	free(node->owned);
	node->params = kept;
	node->owned = owned;
	node->ctx = ctx;
	return CUDA_SUCCESS;
}

void sim_node_copy(struct sim_node *node, const struct sim_node *from)
{
	node->params = from->params;
	node->ctx = from->ctx;
	node->priority = from->priority;
	node->cooperative = from->cooperative;
	node->disabled = from->disabled;
	if (from->memory)
		node->memory = sim_graph_memory_get(from->memory);
	if (from->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		struct sim_graph *child =
		    sim_graph_clone((struct sim_graph *)from->params.graph.graph, node->graph->hidden);

		child->parent = node;
		node->params.graph.graph = (CUgraph)child;
	} else if (from->owned && params_keep(&node->params, &node->ctx, &node->owned) != CUDA_SUCCESS) {
		node->params.type = CU_GRAPH_NODE_TYPE_EMPTY; /* what it needs is gone: its module, its memory */
	}
}

void sim_node_clear(struct sim_node *node)
{
	if (node->memory) {
		/* An executable of the graph that made it may still be launched. */
		if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE && node->memory->freer == node->graph &&
		    node->memory->graph != node->graph)
			node->memory->freer = NULL;
		sim_graph_memory_put(node->memory);
	}
	if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		sim_graph_free((struct sim_graph *)node->params.graph.graph);
	free(node->owned);
}

unsigned sim_node_op_count(const struct sim_node *node)
{
	return node->params.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !node->disabled ? node->params.memOp.count : 1;
}

static struct sim_op *copy_op(const struct sim_node *node)
{
	struct sim_copy_shape shape;

	if (sim_copy_from_3d(&node->params.memcpy.copyParams, &shape) != CUDA_SUCCESS)
		abort();
	return sim_copy_op(&shape, node->ctx);
}

/* A function whose module was unloaded since has nothing to run. */
static struct sim_op *launch_op(const struct sim_node *node)
{
	struct sim_op *op;

	return sim_launch_op(&node->params.kernel, &op) == CUDA_SUCCESS ? op : sim_op_new(SIM_OP_WAIT, 0);
}

static struct sim_op *event_op(CUevent handle, struct sim_stream *record_on)
{
	if (!sim_handle_is(handle, SIM_KIND_EVENT))
		return sim_op_new(SIM_OP_WAIT, 0);
	return record_on ? sim_event_record_op((struct sim_event *)handle, record_on)
			 : sim_event_wait_op((struct sim_event *)handle);
}

struct sim_op *sim_node_op(const struct sim_node *node, unsigned number, struct sim_stream *stream)
{
	const CUgraphNodeParams *params = &node->params;

	if (node->disabled)
		return sim_op_new(SIM_OP_WAIT, 0);
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return launch_op(node);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_op(node);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sim_set_op(&params->memset, node->ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return sim_host_op(params->host.fn, params->host.userData, node->ctx);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return event_op(params->eventWait.event, NULL);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_op(params->eventRecord.event, stream);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return sim_graph_memory_alloc_op(node->memory);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return sim_graph_memory_free_op(node->memory);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return sim_value_op(&params->memOp.paramArray[number], node->ctx);
	default:
		return sim_op_new(SIM_OP_WAIT, 0);
	}
}
