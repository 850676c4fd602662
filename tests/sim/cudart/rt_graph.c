/* Graphs of the simulated runtime: making, launching and ending them, edges, memory, user objects. Edges have data in
 * the functions of 13, and in the _v2 functions of 12. */
#include "tests/sim/cudart/rt.h"

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuGraphCreate(graph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	RT_ENTER();
	return rt_result(rt.cuGraphDestroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	RT_ENTER();
	return rt_result(rt.cuGraphClone(clone, graph));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone)
{
	RT_ENTER();
	return rt_result(rt.cuGraphNodeFindInClone(node, original, clone));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	RT_ENTER();
	return rt_result(rt.cuGraphDestroyNode(node));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	RT_ENTER();
	return rt_result(rt.cuGraphNodeGetType(node, (CUgraphNodeType *)type));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	RT_ENTER();
	return rt_result(rt.cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	RT_ENTER();
	return rt_result(rt.cuGraphGetRootNodes(graph, nodes, count));
}

/* X(name, parameters before the edge data, its type, the type of the count, arguments before the edge data) */
#define EDGED(X)                                                                                                       \
	X(GraphGetEdges, (cudaGraph_t graph, cudaGraphNode_t * from, cudaGraphNode_t * to), , size_t *,                \
	  (graph, from, to))                                                                                           \
	X(GraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t * nodes), , size_t *, (node, nodes))        \
	X(GraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t * nodes), , size_t *, (node, nodes))      \
	X(GraphAddDependencies, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to), const,    \
	  size_t, (graph, from, to))                                                                                   \
	X(GraphRemoveDependencies, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to), const, \
	  size_t, (graph, from, to))

#define EDGED_WITH(name, params, constant, count_type, args)                                                           \
	(RT_UNPAREN params, constant cudaGraphEdgeData * edges, count_type count)                                      \
	{                                                                                                              \
		RT_ENTER();                                                                                            \
		return rt_result(rt.cu##name(RT_UNPAREN args, (constant CUgraphEdgeData *)edges, count));              \
	}

#if SIM_CUDART_MAJOR == 12
#define EDGED_BOTH(name, params, constant, count_type, args)                                                           \
	RT_VISIBLE cudaError_t rt12_##name(RT_UNPAREN params, count_type count) __asm__("cuda" #name);                 \
	cudaError_t rt12_##name(RT_UNPAREN params, count_type count)                                                   \
	{                                                                                                              \
		RT_ENTER();                                                                                            \
		return rt_result(rt.cu##name(RT_UNPAREN args, NULL, count));                                           \
	}                                                                                                              \
	RT_VISIBLE cudaError_t cuda##name##_v2(RT_UNPAREN params, constant cudaGraphEdgeData *edges,                   \
					       count_type count);                                                      \
	cudaError_t cuda##name##_v2 EDGED_WITH(name, params, constant, count_type, args)
#define RT_VISIBLE __attribute__((visibility("default")))
EDGED(EDGED_BOTH)
#else
#define EDGED_ONE(name, params, constant, count_type, args)                                                            \
	cudaError_t cuda##name EDGED_WITH(name, params, constant, count_type, args)
EDGED(EDGED_ONE)
#endif

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	RT_ENTER();
	return rt_result(rt.cuGraphInstantiateWithFlags(exec, graph, flags));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	RT_ENTER();
	return rt_result(rt.cuGraphInstantiateWithFlags(exec, graph, flags));
}

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "one layout");

RT_TWIN(cudaGraphInstantiateWithParams, _ptsz,
	(cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params), (exec, graph, params))
{
	return rt_result(d->cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params));
}

RT_TWIN(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
{
	return rt_result(d->cuGraphLaunch(exec, stream));
}

RT_TWIN(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
{
	return rt_result(d->cuGraphUpload(exec, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecDestroy(exec));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecGetFlags(exec, (cuuint64_t *)flags));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)info));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)
{
	RT_ENTER();
	return rt_result(rt.cuGraphNodeSetEnabled(exec, node, enabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled)
{
	RT_ENTER();
	return rt_result(rt.cuGraphNodeGetEnabled(exec, node, enabled));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	RT_ENTER();
	return rt_result(rt.cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	RT_ENTER();
	return rt_result(rt.cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	RT_ENTER();
	return rt_result(rt.cuDeviceGraphMemTrim(device));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy, unsigned count,
				 unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuUserObjectCreate(object, data, destroy, count, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count)
{
	RT_ENTER();
	return rt_result(rt.cuUserObjectRetain(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
	RT_ENTER();
	return rt_result(rt.cuUserObjectRelease(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count)
{
	RT_ENTER();
	return rt_result(rt.cuGraphReleaseUserObject(graph, object, count));
}
