/* The driver's functions about one node of a graph: adding it, reading its parameters, setting others. The functions of
 * each type put their arguments into the driver's generic structure. */
#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_node.h"

#include <string.h>

static CUresult node_add(CUgraphNode *ret_node, CUgraph handle, const CUgraphNode *after, size_t count,
			 CUgraphNodeParams *params)
{
	struct sim_graph *graph;
	struct sim_node *node;
	struct sim_ctx *ctx;

	SIM_TRY(sim_ctx_current(&ctx));
	SIM_TRY(sim_graph_find(handle, &graph));
	if (!ret_node || !params)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_graph_add(graph, after, count, params, ctx, &node));
	*ret_node = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			CUgraphNodeParams *params)
{
	SIM_ENTER(cuGraphAddNode);
	return node_add(node, graph, after, count, params);
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
			   size_t count, CUgraphNodeParams *params)
{
	SIM_ENTER(cuGraphAddNode_v2);
	(void)edges;
	return node_add(node, graph, after, count, params);
}

CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *params)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphNodeSetParams);
	SIM_TRY(sim_node_find(handle, &node));
	return params ? sim_node_set(node, params) : CUDA_ERROR_INVALID_VALUE;
}

/* The parameters of a node of that type. */
static CUresult params_get(CUgraphNode handle, CUgraphNodeType type, const void *result,
			   const CUgraphNodeParams **ret_params)
{
	struct sim_node *node;

	SIM_TRY(sim_node_find(handle, &node));
	if (!result || node->params.type != type)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_params = &node->params;
	return CUDA_SUCCESS;
}

static CUresult params_set(CUgraphNode handle, const CUgraphNodeParams *params)
{
	struct sim_node *node;

	SIM_TRY(sim_node_find(handle, &node));
	return sim_node_set(node, params);
}

/* The kernel parameters of the first version end before `kern`. */
static CUgraphNodeParams kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	memcpy(&node.kernel, params, sizeof(*params));
	return node;
}

static CUgraphNodeParams kernel_v2(const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	memcpy(&node.kernel, params, sizeof(*params));
	return node;
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "one layout");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v3, kern) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1), "a prefix");

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphAddKernelNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = kernel_v1(given);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphKernelNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_KERNEL, result, &params));
	memcpy(result, &params->kernel, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphKernelNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = kernel_v1(given);
	return params_set(node, &params);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				 const CUDA_KERNEL_NODE_PARAMS_v2 *given)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphAddKernelNode_v2);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = kernel_v2(given);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphKernelNodeGetParams_v2);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_KERNEL, result, &params));
	memcpy(result, &params->kernel, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *given)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphKernelNodeSetParams_v2);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = kernel_v2(given);
	return params_set(node, &params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			      const CUDA_MEMCPY3D *given, CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	SIM_ENTER(cuGraphAddMemcpyNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params.memcpy.copyParams = *given;
	params.memcpy.copyCtx = ctx;
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphMemcpyNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_MEMCPY, result, &params));
	*result = params->memcpy.copyParams;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	SIM_ENTER(cuGraphMemcpyNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params.memcpy.copyParams = *given;
	return params_set(node, &params);
}

/* The last field of the second version is the context. */
static CUgraphNodeParams memset_v1(const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext ctx)
{
	CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	memcpy(&node.memset, params, sizeof(*params));
	node.memset.ctx = ctx;
	return node;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			      const CUDA_MEMSET_NODE_PARAMS_v1 *given, CUcontext ctx)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphAddMemsetNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = memset_v1(given, ctx);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v1 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphMemsetNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_MEMSET, result, &params));
	memcpy(result, &params->memset, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params;

	SIM_ENTER(cuGraphMemsetNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	params = memset_v1(given, NULL);
	return params_set(node, &params);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			    const CUDA_HOST_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};

	SIM_ENTER(cuGraphAddHostNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.host, given, sizeof(*given));
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS_v1 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphHostNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_HOST, result, &params));
	memcpy(result, &params->host, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};

	SIM_ENTER(cuGraphHostNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.host, given, sizeof(*given));
	return params_set(node, &params);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	SIM_ENTER(cuGraphAddEmptyNode);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				  CUgraph child)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = child}};

	SIM_ENTER(cuGraphAddChildGraphNode);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphChildGraphNodeGetGraph);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_GRAPH, child, &params));
	*child = params->graph.graph;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				   CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

	SIM_ENTER(cuGraphAddEventRecordNode);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphEventRecordNodeGetEvent);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &params));
	*event = params->eventRecord.event;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

	SIM_ENTER(cuGraphEventRecordNodeSetEvent);
	return params_set(node, &params);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				 CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

	SIM_ENTER(cuGraphAddEventWaitNode);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphEventWaitNodeGetEvent);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &params));
	*event = params->eventWait.event;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

	SIM_ENTER(cuGraphEventWaitNodeSetEvent);
	return params_set(node, &params);
}

_Static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS_v1) == sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2), "one layout");

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				  const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};

	SIM_ENTER(cuGraphAddBatchMemOpNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.memOp, given, sizeof(*given));
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphBatchMemOpNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, result, &params));
	memcpy(result, &params->memOp, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};

	SIM_ENTER(cuGraphBatchMemOpNodeSetParams);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.memOp, given, sizeof(*given));
	return params_set(node, &params);
}

_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2), "one layout");

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
				CUDA_MEM_ALLOC_NODE_PARAMS_v1 *given)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};

	SIM_ENTER(cuGraphAddMemAllocNode);
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.alloc, given, sizeof(*given));
	SIM_TRY(node_add(node, graph, after, count, &params));
	given->dptr = params.alloc.dptr;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS_v1 *result)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphMemAllocNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, result, &params));
	memcpy(result, &params->alloc, sizeof(*result));
	return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
			       CUdeviceptr pointer)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {pointer}};

	SIM_ENTER(cuGraphAddMemFreeNode);
	return node_add(node, graph, after, count, &params);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *pointer)
{
	const CUgraphNodeParams *params;

	SIM_ENTER(cuGraphMemFreeNodeGetParams);
	SIM_TRY(params_get(node, CU_GRAPH_NODE_TYPE_MEM_FREE, pointer, &params));
	*pointer = params->free.dptr;
	return CUDA_SUCCESS;
}

/* Two attributes are kept: the priority and whether the launch is cooperative. */
static CUresult kernel_find(CUgraphNode handle, const void *value, struct sim_node **ret_node)
{
	SIM_TRY(sim_node_find(handle, ret_node));
	return value && (*ret_node)->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphKernelNodeGetAttribute);
	SIM_TRY(kernel_find(handle, value, &node));
	memset(value, 0, sizeof(*value));
	if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = node->priority;
	else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value->cooperative = node->cooperative;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
				       const CUkernelNodeAttrValue *value)
{
	struct sim_node *node;

	SIM_ENTER(cuGraphKernelNodeSetAttribute);
	SIM_TRY(kernel_find(handle, value, &node));
	if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		node->priority = value->priority;
	else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		node->cooperative = value->cooperative;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst_handle, CUgraphNode src_handle)
{
	struct sim_node *dst, *src;

	SIM_ENTER(cuGraphKernelNodeCopyAttributes);
	SIM_TRY(kernel_find(dst_handle, &dst, &dst));
	SIM_TRY(kernel_find(src_handle, &src, &src));
	dst->priority = src->priority;
	dst->cooperative = src->cooperative;
	return CUDA_SUCCESS;
}
