/* Rule: a launch runs the nodes of a graph in the order of its edges and of its stream, and once for each launch; what
 * changes in the graph after it was instantiated does not matter; parameters are changed in the executable graph. It
 * may be destroyed while its launches are under way. */
#include "tests/conformance/rule_drv.h"

#define COUNT 1024u

static CUdeviceptr one, two;
static CUstream stream;

static CUgraphNode add_set(CUgraph graph, CUgraphNode after, CUdeviceptr dst, unsigned value, size_t count)
{
	CUDA_MEMSET_NODE_PARAMS params = {dst, 0, value, 4, count, 1};
	CUgraphNode node;
	CUcontext context;

	NEED(cuCtxGetCurrent(&context));
	NEED(cuGraphAddMemsetNode(&node, graph, after ? &after : NULL, after != NULL, &params, context));
	return node;
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr dst, CUdeviceptr src)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = src,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = dst,
			       .WidthInBytes = COUNT * 4,
			       .Height = 1,
			       .Depth = 1};
}

static unsigned word(CUdeviceptr address)
{
	unsigned value = 0;

	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, address, sizeof(value)));
	return value;
}

static void refused(CUgraph graph)
{
	CUDA_MEMSET_NODE_PARAMS bad = {one, 0, 1, 3, COUNT, 1};
	CUgraphNode node;
	CUcontext context;

	NEED(cuCtxGetCurrent(&context));
	WANT(cuGraphAddMemsetNode(&node, graph, NULL, 0, &bad, context), CUDA_ERROR_INVALID_VALUE);
	bad = (CUDA_MEMSET_NODE_PARAMS){one, 0, 1, 4, 0, 1};
	WANT(cuGraphAddMemsetNode(&node, graph, NULL, 0, &bad, context), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUgraphNode set, copy;
	CUDA_MEMSET_NODE_PARAMS other;
	CUDA_MEMCPY3D params;
	CUgraphExec exec;
	unsigned enabled = 7;
	cuuint64_t flags = 99;
	CUcontext context;
	CUgraph graph;

	context = rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&one, COUNT * 4));
	NEED(cuMemAlloc(&two, COUNT * 4));
	NEED(cuMemsetD32(one, 1, COUNT));
	NEED(cuMemsetD32(two, 2, COUNT));
	NEED(cuCtxSynchronize());
	NEED(cuGraphCreate(&graph, 0));
	refused(graph);
	set = add_set(graph, NULL, one, 10, COUNT);
	params = copy_of(two, one);
	NEED(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &params, context));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphExecGetFlags(exec, &flags));
	WANT(flags, 0);
	WANT(word(one), 1);

	NEED(cuGraphLaunch(exec, stream));
	WANT(word(two), 10);
	NEED(cuMemsetD32Async(two, 3, COUNT, stream));
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(two + (COUNT - 1) * 4), 10);

	other = (CUDA_MEMSET_NODE_PARAMS){one, 0, 20, 4, COUNT, 1};
	NEED(cuGraphMemsetNodeSetParams(set, &other));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(two), 10);
	NEED(cuGraphExecMemsetNodeSetParams(exec, set, &other, context));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(two), 20);
	WANT(cuGraphExecMemsetNodeSetParams(exec, copy, &other, context), CUDA_ERROR_INVALID_VALUE);

	NEED(cuGraphNodeSetEnabled(exec, copy, 0));
	NEED(cuGraphNodeGetEnabled(exec, copy, &enabled));
	WANT(enabled, 0);
	other.value = 30;
	NEED(cuGraphExecMemsetNodeSetParams(exec, set, &other, context));
	NEED(cuGraphLaunch(exec, stream));
	WANT(word(two), 20);
	WANT(word(one), 30);
	NEED(cuGraphNodeSetEnabled(exec, copy, 1));

	NEED(cuGraphLaunch(exec, stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	WANT(word(two), 30);
	return rule_broken;
}
