/* The driver's functions about executable graphs: making, launching, ending them, and changing what they launch. */
#include "tests/sim/cuda/sim_exec.h"
#include "tests/sim/cuda/sim_sched.h"

#include <string.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_copy.h"
#include "tests/sim/cuda/sim_node.h"
#include "tests/sim/cuda/sim_range.h"

#define FLAGS_ALL                                                                                                      \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                        \
	 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* Device launch is not simulated. */
static CUresult instantiate(CUgraphExec *ret_exec, CUgraph handle, unsigned long long flags,
			    struct sim_node **ret_error_node)
{
	struct sim_graph *graph;
	struct sim_exec *exec;
	struct sim_ctx *ctx;

	*ret_error_node = NULL;
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ctx_current(&ctx));
	SIM_TRY(sim_graph_find(handle, &graph));
	if (!ret_exec || flags & ~(unsigned long long)FLAGS_ALL || graph->parent)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH ? CUDA_ERROR_INVALID_VALUE
									       : CUDA_ERROR_NOT_SUPPORTED;
	SIM_TRY(sim_exec_new(graph, flags & ~(unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, &exec,
			     ret_error_node));
	*ret_exec = (CUgraphExec)exec;
	return CUDA_SUCCESS;
}

static CUresult instantiate_v1(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
	struct sim_node *node;
	CUresult result = instantiate(ret_exec, graph, 0, &node);

	if (error_node)
		*error_node = (CUgraphNode)node;
	if (log && size)
		*log = '\0';
	return result;
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
	SIM_ENTER(cuGraphInstantiate);
	sim_sched_await_room();
	return instantiate_v1(exec, graph, error_node, log, size);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
	SIM_ENTER(cuGraphInstantiate_v2);
	sim_sched_await_room();
	return instantiate_v1(exec, graph, error_node, log, size);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphInstantiateWithFlags);
	sim_sched_await_room();
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		return CUDA_ERROR_INVALID_VALUE;
	return instantiate(exec, graph, flags, &node);
}

/* An upload is a place in the stream, after earlier launches. */
static CUresult exec_upload(struct sim_exec *exec, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	struct sim_op *op;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	SIM_TRY(sim_exec_map(exec, stream));
	op = sim_op_new(SIM_OP_WAIT, 0);
	sim_op_after(op, exec->last);
	sim_stream_submit(stream, op);
	return CUDA_SUCCESS;
}

SIM_TWIN(cuGraphInstantiateWithParams, _ptsz,
	 (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (exec, graph, params))
{
	struct sim_node *node;
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate(exec, graph, params->flags, &node);
	params->hErrNode_out = (CUgraphNode)node;
	params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
			     : node		    ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
						    : CUDA_GRAPH_INSTANTIATE_ERROR;
	if (result == CUDA_SUCCESS && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		result = exec_upload((struct sim_exec *)*exec, params->hUploadStream, per_thread);
	return result;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	struct sim_exec *exec;

	SIM_ENTER(cuGraphExecDestroy);
	sim_sched_await_room();
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_exec_find(handle, &exec));
	sim_exec_destroy(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
	struct sim_exec *exec;

	SIM_ENTER(cuGraphExecGetFlags);
	SIM_TRY(sim_exec_find(handle, &exec));
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuGraphLaunch, _ptsz, (CUgraphExec handle, CUstream stream_handle), (handle, stream_handle))
{
	struct sim_stream *stream;
	struct sim_exec *exec;

	SIM_TRY(sim_capture_find_stream(stream_handle, per_thread, &stream));
	SIM_TRY(sim_exec_find(handle, &exec));
	SIM_TRY(sim_capture_ask_stream(stream));
	return sim_exec_launch(exec, stream);
}

SIM_TWIN(cuGraphUpload, _ptsz, (CUgraphExec handle, CUstream stream), (handle, stream))
{
	struct sim_exec *exec;

	SIM_TRY(sim_exec_find(handle, &exec));
	return exec_upload(exec, stream, per_thread);
}

/* --- Changes */

/* Memory that belongs to a context, other device memory (mapped, of pools, of graphs), and the host's. */
static int operand(uintptr_t address)
{
	const struct sim_range *range = sim_range_find(address);

	if (!range || !sim_range_is_device(address))
		return 0;
	return range->ctx ? 1 : 2;
}

/* What has more than one dimension keeps its shape, and every operand its kind of memory. */
static CUresult copy_change(const CUDA_MEMCPY3D *from, const CUDA_MEMCPY3D *to, bool flat_only)
{
	struct sim_copy_shape a, b;

	SIM_TRY(sim_copy_from_3d(from, &a));
	SIM_TRY(sim_copy_from_3d(to, &b));
	if (a.height > 1 || b.height > 1 || a.depth > 1 || b.depth > 1) {
		if (flat_only || a.width != b.width || a.height != b.height || a.depth != b.depth)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return operand(a.src.start) == operand(b.src.start) && operand(a.dst.start) == operand(b.dst.start)
		   ? CUDA_SUCCESS
		   : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_change(const CUDA_MEMSET_NODE_PARAMS_v2 *from, const CUDA_MEMSET_NODE_PARAMS_v2 *to)
{
	if (from->height == 1 && to->height == 1)
		return CUDA_SUCCESS;
	return from->height == to->height && from->width == to->width && from->elementSize == to->elementSize &&
		       from->pitch == to->pitch
		   ? CUDA_SUCCESS
		   : CUDA_ERROR_INVALID_VALUE;
}

static CUresult change_check(const CUgraphNodeParams *from, const CUgraphNodeParams *to, bool flat_only)
{
	if (from->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		return copy_change(&from->memcpy.copyParams, &to->memcpy.copyParams, flat_only);
	return from->type == CU_GRAPH_NODE_TYPE_MEMSET ? set_change(&from->memset, &to->memset) : CUDA_SUCCESS;
}

static CUresult exec_set(CUgraphExec exec_handle, CUgraphNode handle, const CUgraphNodeParams *params)
{
	struct sim_exec *exec;
	struct sim_node *node;

	SIM_TRY(sim_exec_find(exec_handle, &exec));
	SIM_TRY(sim_exec_node(exec, handle, &node));
	if (params->type != node->params.type)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(change_check(&node->params, params, true));
	return sim_node_set(node, params);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	SIM_ENTER(cuGraphExecNodeSetParams);
	return params ? exec_set(exec, node, params) : CUDA_ERROR_INVALID_VALUE;
}

/* X(function, more of its parameters, type of the parameters, type of node, member, what sets the context) */
#define EXEC_SETS(X)                                                                                                   \
	X(cuGraphExecKernelNodeSetParams, , CUDA_KERNEL_NODE_PARAMS_v1, KERNEL, kernel, )                              \
	X(cuGraphExecKernelNodeSetParams_v2, , CUDA_KERNEL_NODE_PARAMS_v2, KERNEL, kernel, )                           \
	X(cuGraphExecMemsetNodeSetParams, COMMA CUcontext ctx, CUDA_MEMSET_NODE_PARAMS_v1, MEMSET, memset,             \
	  params.memset.ctx = ctx)                                                                                     \
	X(cuGraphExecHostNodeSetParams, , CUDA_HOST_NODE_PARAMS_v1, HOST, host, )                                      \
	X(cuGraphExecBatchMemOpNodeSetParams, , CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, BATCH_MEM_OP, memOp, )

#define COMMA ,
#define EXEC_SET(function, more, params_type, node_type, member, set_ctx)                                              \
	CUresult function(CUgraphExec exec, CUgraphNode node, const params_type *given more)                           \
	{                                                                                                              \
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_##node_type};                                   \
                                                                                                                       \
		SIM_ENTER(function);                                                                                   \
		if (!given)                                                                                            \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		memcpy(&params.member, given, sizeof(*given));                                                         \
		set_ctx;                                                                                               \
		return exec_set(exec, node, &params);                                                                  \
	}
EXEC_SETS(EXEC_SET)

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *given, CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	SIM_ENTER(cuGraphExecMemcpyNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params.memcpy.copyParams = *given;
	params.memcpy.copyCtx = ctx;
	return exec_set(exec, node, &params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

	SIM_ENTER(cuGraphExecEventRecordNodeSetEvent);
	return exec_set(exec, node, &params);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

	SIM_ENTER(cuGraphExecEventWaitNodeSetEvent);
	return exec_set(exec, node, &params);
}

static bool can_disable(const struct sim_node *node)
{
	return node->params.type == CU_GRAPH_NODE_TYPE_KERNEL || node->params.type == CU_GRAPH_NODE_TYPE_MEMSET ||
	       node->params.type == CU_GRAPH_NODE_TYPE_MEMCPY;
}

static CUresult switch_find(CUgraphExec exec_handle, CUgraphNode handle, struct sim_node **ret_node)
{
	struct sim_exec *exec;

	SIM_TRY(sim_exec_find(exec_handle, &exec));
	SIM_TRY(sim_exec_node(exec, handle, ret_node));
	return can_disable(*ret_node) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphNodeSetEnabled);
	SIM_TRY(switch_find(exec, handle, &node));
	node->disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned *enabled)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphNodeGetEnabled);
	SIM_TRY(switch_find(exec, handle, &node));
	if (!enabled)
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = !node->disabled;
	return CUDA_SUCCESS;
}

/* --- Whole graphs */

/* Pairs the steps of two plans, in order. The first that does not fit is ret_info's. */
static void update_compare(const struct sim_plan *old, const struct sim_plan *new,
			   CUgraphExecUpdateResultInfo *ret_info)
{
	ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (old->count != new->count)
		return;
	for (unsigned i = 0; i < new->count; i++) {
		const struct sim_step *was = &old->steps[i], *is = &new->steps[i];

		ret_info->errorNode = (CUgraphNode)is->node;
		if (was->edge_count != is->edge_count || was->leaves != is->leaves)
			return;
		for (unsigned j = 0; j < is->edge_count; j++) {
			ret_info->errorFromNode = (CUgraphNode) new->steps[new->edges[is->edges + j]].node;
			if (old->edges[was->edges + j] != new->edges[is->edges + j])
				return;
		}
		ret_info->errorFromNode = NULL;
		if (was->node->params.type != is->node->params.type) {
			ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
			return;
		}
		if (is->node->memory && is->node->memory != was->node->memory) {
			ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
			return;
		}
		if (change_check(&was->node->params, &is->node->params, false) != CUDA_SUCCESS) {
			ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
			return;
		}
	}
	*ret_info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
}

/* What is set has been checked when the new graph's nodes got it; it may be gone since. */
static CUresult update_apply(const struct sim_plan *old, const struct sim_plan *new)
{
	for (unsigned i = 0; i < new->count; i++) {
		struct sim_node *node = old->steps[i].node;

		if (node->memory || node->params.type == CU_GRAPH_NODE_TYPE_GRAPH ||
		    node->params.type == CU_GRAPH_NODE_TYPE_EMPTY)
			continue;
		SIM_TRY(sim_node_set(node, &new->steps[i].node->params));
	}
	return CUDA_SUCCESS;
}

static CUresult exec_update(struct sim_exec *exec, struct sim_graph *graph, CUgraphExecUpdateResultInfo *ret_info)
{
	struct sim_node *node = NULL;
	struct sim_plan plan;
	CUresult result;

	*ret_info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	SIM_TRY(sim_plan_make(&plan, graph, &node));
	update_compare(&exec->plan, &plan, ret_info);
	result = ret_info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? update_apply(&exec->plan, &plan)
								  : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	sim_plan_free(&plan);
	return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
	struct sim_graph *graph;
	struct sim_exec *exec;

	SIM_ENTER(cuGraphExecUpdate_v2);
	SIM_TRY(sim_exec_find(exec_handle, &exec));
	SIM_TRY(sim_graph_find(graph_handle, &graph));
	return info ? exec_update(exec, graph, info) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecUpdate(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphNode *error_node,
			   CUgraphExecUpdateResult *update_result)
{
	CUgraphExecUpdateResultInfo info;
	struct sim_graph *graph;
	struct sim_exec *exec;
	CUresult result;

	SIM_ENTER(cuGraphExecUpdate);
	SIM_TRY(sim_exec_find(exec_handle, &exec));
	SIM_TRY(sim_graph_find(graph_handle, &graph));
	result = exec_update(exec, graph, &info);
	if (error_node)
		*error_node = info.errorNode;
	if (update_result)
		*update_result = info.result;
	return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec_handle, CUgraphNode handle, CUgraph child_handle)
{
	CUgraphExecUpdateResultInfo info;
	struct sim_plan old, new;
	struct sim_graph *child;
	struct sim_exec *exec;
	struct sim_node *node, *wrong;
	CUresult result;

	SIM_ENTER(cuGraphExecChildGraphNodeSetParams);
	SIM_TRY(sim_exec_find(exec_handle, &exec));
	SIM_TRY(sim_exec_node(exec, handle, &node));
	SIM_TRY(sim_graph_find(child_handle, &child));
	if (node->params.type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_plan_make(&new, child, &wrong));
	result = sim_plan_make(&old, (struct sim_graph *)node->params.graph.graph, &wrong);
	if (result == CUDA_SUCCESS) {
		update_compare(&old, &new, &info);
		result =
		    info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? update_apply(&old, &new) : CUDA_ERROR_INVALID_VALUE;
		sim_plan_free(&old);
	}
	sim_plan_free(&new);
	return result;
}
