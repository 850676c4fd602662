/* Rule (H7, H10): memory of graphs to those who ask: it has an address but no size and no attributes before a launch;
 * freeing by a graph what is not live is refused at the launch; graphs that run one after the other share their bytes,
 * which stay until they are trimmed. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)32 << 20)

static CUstream stream;

static unsigned long long figure(CUgraphMem_attribute attribute)
{
	cuuint64_t value = 99;

	NEED(cuDeviceGetGraphMemAttribute(0, attribute, &value));
	return value;
}

static CUgraphExec inside(CUgraph *ret_graph)
{
	CUdeviceptr memory;
	CUgraphExec exec;

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamEndCapture(stream, ret_graph));
	NEED(cuGraphInstantiateWithFlags(&exec, *ret_graph, 0));
	return exec;
}

static void asked(void)
{
	CUgraph graph, freeing;
	CUgraphExec exec, freer;
	CUdeviceptr memory, base = 0;
	unsigned type = 99;
	size_t size_bytes = 0;

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	WANT(cuMemGetAddressRange(&base, &size_bytes, memory + 4096), CUDA_ERROR_NOT_FOUND);
	WANT(base, 0);
	WANT(cuMemGetAddressRange(&base, &size_bytes, memory), CUDA_ERROR_NOT_FOUND);
	WANT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_ERROR_INVALID_VALUE);
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemFreeAsync(memory, stream));
	WANT(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuStreamEndCapture(stream, &freeing));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphInstantiateWithFlags(&freer, freeing, 0));
	WANT(cuGraphLaunch(freer, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuGraphLaunch(exec, stream));
	WANT(cuMemGetAddressRange(&base, &size_bytes, memory + 4096), CUDA_SUCCESS);
	WANT(base == memory, 1);
	WANT(size_bytes, BYTES);
	WANT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_SUCCESS);
	WANT(type, CU_MEMORYTYPE_DEVICE);
	WANT(cuGraphLaunch(freer, stream), CUDA_SUCCESS);
	WANT(cuGraphLaunch(freer, stream), CUDA_ERROR_INVALID_VALUE);
	NEED(cuGraphLaunch(exec, stream));
	WANT(cuMemFree(memory), CUDA_SUCCESS);
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphExecDestroy(freer));
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(freeing));
}

static void figures(void)
{
	CUgraph graphs[2];
	CUgraphExec execs[2];

	NEED(cuDeviceGraphMemTrim(0));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	execs[0] = inside(&graphs[0]);
	execs[1] = inside(&graphs[1]);
	WANT(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	NEED(cuGraphLaunch(execs[0], stream));
	NEED(cuStreamSynchronize(stream));
	WANT(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), BYTES);
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
	NEED(cuGraphLaunch(execs[1], stream));
	NEED(cuStreamSynchronize(stream));
	WANT(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), BYTES);
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
	NEED(cuGraphExecDestroy(execs[0]));
	NEED(cuGraphExecDestroy(execs[1]));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
	NEED(cuGraphDestroy(graphs[0]));
	NEED(cuGraphDestroy(graphs[1]));
	WANT(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), BYTES);
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
	NEED(cuDeviceGraphMemTrim(0));
	WANT(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
}

int main(void)
{
	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	asked();
	figures();
	return rule_broken;
}
