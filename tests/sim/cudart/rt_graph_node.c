/* Nodes of graphs of the simulated runtime: the runtime's parameters of each type, in terms of the driver's. */
#include "tests/sim/cudart/rt.h"

#include <string.h>

#define DEVICE(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

static CUresult kernel_to(CUDA_KERNEL_NODE_PARAMS_v2 *to, const struct cudaKernelNodeParams *from)
{
	cudaError_t error;

	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	*to = (CUDA_KERNEL_NODE_PARAMS_v2){.gridDimX = from->gridDim.x,
					   .gridDimY = from->gridDim.y,
					   .gridDimZ = from->gridDim.z,
					   .blockDimX = from->blockDim.x,
					   .blockDimY = from->blockDim.y,
					   .blockDimZ = from->blockDim.z,
					   .sharedMemBytes = from->sharedMemBytes,
					   .kernelParams = from->kernelParams,
					   .extra = from->extra};
	error = rt_launch_handle(from->func, &to->func);
	return (CUresult)error;
}

static CUresult memset_to(CUDA_MEMSET_NODE_PARAMS_v1 *to, const struct cudaMemsetParams *from)
{
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	*to = (CUDA_MEMSET_NODE_PARAMS_v1){DEVICE(from->dst), from->pitch, from->value,
					   from->elementSize, from->width, from->height};
	return CUDA_SUCCESS;
}

/* A copy that was captured names its host side apart. */
static struct cudaMemcpy3DParms copy_from(const CUDA_MEMCPY3D *from)
{
	bool from_host = from->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = from->dstMemoryType == CU_MEMORYTYPE_HOST;

	return (struct cudaMemcpy3DParms){
	    .srcPos = {from->srcXInBytes, from->srcY, from->srcZ},
	    .srcPtr = {from_host ? (void *)from->srcHost : (void *)(uintptr_t)from->srcDevice, from->srcPitch,
		       from->WidthInBytes, from->srcHeight},
	    .dstPos = {from->dstXInBytes, from->dstY, from->dstZ},
	    .dstPtr = {to_host ? from->dstHost : (void *)(uintptr_t)from->dstDevice, from->dstPitch, from->WidthInBytes,
		       from->dstHeight},
	    .extent = {from->WidthInBytes, from->Height, from->Depth},
	    .kind = cudaMemcpyDefault,
	};
}

static CUDA_MEMCPY3D copy_1d(void *dst, const void *src, size_t count)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			       .srcDevice = DEVICE(src),
			       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			       .dstDevice = DEVICE(dst),
			       .WidthInBytes = count,
			       .Height = 1,
			       .Depth = 1};
}

static CUcontext current(void)
{
	CUcontext ctx = NULL;

	rt.cuCtxGetCurrent(&ctx);
	return ctx;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
				   const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 driver;
	CUresult result;

	RT_ENTER();
	result = kernel_to(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphAddKernelNode(node, graph, after, count, &driver);
	return rt_result(result);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 driver;
	CUresult result;

	RT_ENTER();
	result = kernel_to(&driver, params);
	return rt_result(result == CUDA_SUCCESS ? rt.cuGraphKernelNodeSetParams(node, &driver) : result);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 driver;
	CUresult result;

	RT_ENTER();
	result = kernel_to(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphExecKernelNodeSetParams(exec, node, &driver);
	return rt_result(result);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 driver;
	CUresult result;

	RT_ENTER();
	if (!params)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	result = rt.cuGraphKernelNodeGetParams(node, &driver);
	if (result == CUDA_SUCCESS)
		*params =
		    (struct cudaKernelNodeParams){.func = driver.func ? (void *)driver.func : (void *)driver.kern,
						  .gridDim = {driver.gridDimX, driver.gridDimY, driver.gridDimZ},
						  .blockDim = {driver.blockDimX, driver.blockDimY, driver.blockDimZ},
						  .sharedMemBytes = driver.sharedMemBytes,
						  .kernelParams = driver.kernelParams,
						  .extra = driver.extra};
	return rt_result(result);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
				   const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS_v1 driver;
	CUresult result;

	RT_ENTER();
	result = memset_to(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphAddMemsetNode(node, graph, after, count, &driver, current());
	return rt_result(result);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS_v1 driver;
	CUresult result;

	RT_ENTER();
	result = memset_to(&driver, params);
	return rt_result(result == CUDA_SUCCESS ? rt.cuGraphMemsetNodeSetParams(node, &driver) : result);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS_v1 driver;
	CUresult result;

	RT_ENTER();
	result = memset_to(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphExecMemsetNodeSetParams(exec, node, &driver, current());
	return rt_result(result);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS_v1 driver;
	CUresult result;

	RT_ENTER();
	if (!params)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	result = rt.cuGraphMemsetNodeGetParams(node, &driver);
	if (result == CUDA_SUCCESS)
		*params = (struct cudaMemsetParams){(void *)(uintptr_t)driver.dst,
						    driver.pitch,
						    driver.value,
						    driver.elementSize,
						    driver.width,
						    driver.height};
	return rt_result(result);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
				   const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D driver;
	CUresult result;

	RT_ENTER();
	result = rt_copy_3d(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphAddMemcpyNode(node, graph, after, count, &driver, current());
	return rt_result(result);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D driver;
	CUresult result;

	RT_ENTER();
	result = rt_copy_3d(&driver, params);
	return rt_result(result == CUDA_SUCCESS ? rt.cuGraphMemcpyNodeSetParams(node, &driver) : result);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D driver;
	CUresult result;

	RT_ENTER();
	result = rt_copy_3d(&driver, params);
	if (result == CUDA_SUCCESS)
		result = rt.cuGraphExecMemcpyNodeSetParams(exec, node, &driver, current());
	return rt_result(result);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D driver;
	CUresult result;

	RT_ENTER();
	if (!params)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	result = rt.cuGraphMemcpyNodeGetParams(node, &driver);
	if (result == CUDA_SUCCESS)
		*params = copy_from(&driver);
	return rt_result(result);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				     size_t count, void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D driver = copy_1d(dst, src, size);

	(void)kind;
	RT_ENTER();
	return rt_result(rt.cuGraphAddMemcpyNode(node, graph, after, count, &driver, current()));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t size,
					   enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D driver = copy_1d(dst, src, size);

	(void)kind;
	RT_ENTER();
	return rt_result(rt.cuGraphMemcpyNodeSetParams(node, &driver));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const void *src,
					       size_t size, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D driver = copy_1d(dst, src, size);

	(void)kind;
	RT_ENTER();
	return rt_result(rt.cuGraphExecMemcpyNodeSetParams(exec, node, &driver, current()));
}

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS_v1), "one layout");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1), "one layout");

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
				 const struct cudaHostNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddHostNode(node, graph, after, count, (const CUDA_HOST_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecHostNodeSetParams(exec, node, (const CUDA_HOST_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddEmptyNode(node, graph, after, count));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				       size_t count, cudaGraph_t child)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddChildGraphNode(node, graph, after, count, child));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child)
{
	RT_ENTER();
	return rt_result(rt.cuGraphChildGraphNodeGetGraph(node, child));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecChildGraphNodeSetParams(exec, node, child));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
					size_t count, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddEventRecordNode(node, graph, after, count, event));
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphEventRecordNodeGetEvent(node, event));
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphEventRecordNodeSetEvent(node, event));
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecEventRecordNodeSetEvent(exec, node, event));
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				      size_t count, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddEventWaitNode(node, graph, after, count, event));
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphEventWaitNodeGetEvent(node, event));
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphEventWaitNodeSetEvent(node, event));
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuGraphExecEventWaitNodeSetEvent(exec, node, event));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				     size_t count, struct cudaMemAllocNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddMemAllocNode(node, graph, after, count, (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params)
{
	RT_ENTER();
	return rt_result(rt.cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)params));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				    size_t count, void *pointer)
{
	RT_ENTER();
	return rt_result(rt.cuGraphAddMemFreeNode(node, graph, after, count, DEVICE(pointer)));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *pointer)
{
	RT_ENTER();
	return rt_result(rt.cuGraphMemFreeNodeGetParams(node, pointer));
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t dst, cudaGraphNode_t src)
{
	RT_ENTER();
	return rt_result(rt.cuGraphKernelNodeCopyAttributes(dst, src));
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
					    cudaLaunchAttributeValue *value)
{
	RT_ENTER();
	return rt_result(
	    rt.cuGraphKernelNodeGetAttribute(node, (CUlaunchAttributeID)attribute, (CUlaunchAttributeValue *)value));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
					    const cudaLaunchAttributeValue *value)
{
	RT_ENTER();
	return rt_result(rt.cuGraphKernelNodeSetAttribute(node, (CUlaunchAttributeID)attribute,
							  (const CUlaunchAttributeValue *)value));
}

/* --- Any type */

static CUresult any_to(CUgraphNodeParams *to, struct cudaGraphNodeParams *from)
{
	cudaError_t error;

	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	memset(to, 0, sizeof(*to));
	to->type = (CUgraphNodeType)from->type;
	switch (from->type) {
	case cudaGraphNodeTypeKernel:
		to->kernel = (CUDA_KERNEL_NODE_PARAMS_v3){.gridDimX = from->kernel.gridDim.x,
							  .gridDimY = from->kernel.gridDim.y,
							  .gridDimZ = from->kernel.gridDim.z,
							  .blockDimX = from->kernel.blockDim.x,
							  .blockDimY = from->kernel.blockDim.y,
							  .blockDimZ = from->kernel.blockDim.z,
							  .sharedMemBytes = from->kernel.sharedMemBytes,
							  .kernelParams = from->kernel.kernelParams,
							  .extra = from->kernel.extra};
		error = rt_launch_handle(from->kernel.func, &to->kernel.func);
		return (CUresult)error;
	case cudaGraphNodeTypeMemcpy:
		to->memcpy.copyCtx = current();
		return rt_copy_3d(&to->memcpy.copyParams, &from->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		to->memset = (CUDA_MEMSET_NODE_PARAMS_v2){
		    DEVICE(from->memset.dst), from->memset.pitch,  from->memset.value, from->memset.elementSize,
		    from->memset.width,	      from->memset.height, current()};
		return CUDA_SUCCESS;
	default: /* laid out alike */
		memcpy(to->reserved1, from->reserved1, sizeof(to->reserved1));
		return CUDA_SUCCESS;
	}
}

/* The address of an allocation node goes back to the program. */
static CUresult any_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
			const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result = any_to(&driver, params);

	if (result == CUDA_SUCCESS)
		result = rt.cuGraphAddNode(node, graph, after, (const CUgraphEdgeData *)edges, count, &driver);
	if (result == CUDA_SUCCESS && params->type == cudaGraphNodeTypeMemAlloc)
		params->alloc.dptr = (void *)(uintptr_t)driver.alloc.dptr;
	return result;
}

#if SIM_CUDART_MAJOR == 12
#pragma GCC visibility push(default)
cudaError_t rt12_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
			  struct cudaGraphNodeParams *params) __asm__("cudaGraphAddNode");
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params);
#pragma GCC visibility pop

cudaError_t rt12_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
			  struct cudaGraphNodeParams *params)
{
	RT_ENTER();
	return rt_result(any_add(node, graph, after, NULL, count, params));
}

cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
				const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
	RT_ENTER();
	return rt_result(any_add(node, graph, after, edges, count, params));
}
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
			     const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
	RT_ENTER();
	return rt_result(any_add(node, graph, after, edges, count, params));
}
#endif

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result;

	RT_ENTER();
	result = any_to(&driver, params);
	return rt_result(result == CUDA_SUCCESS ? rt.cuGraphNodeSetParams(node, &driver) : result);
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result;

	RT_ENTER();
	result = any_to(&driver, params);
	return rt_result(result == CUDA_SUCCESS ? rt.cuGraphExecNodeSetParams(exec, node, &driver) : result);
}
