/* Rule: a copy in an executable graph cannot be changed from memory of cuMemAlloc to mapped memory or that of a pool,
 * nor back; a set can. Under the shim cuMemAlloc serves mapped memory, so there all of it can. */
#include "tests/conformance/rule_drv.h"

#define G ((size_t)2 << 20)

enum { PLAIN, MAPPED, POOLED, KINDS };

static const char *const names[KINDS] = {"plain", "mapped", "pooled"};
static CUdeviceptr source[KINDS], target[KINDS];
static CUcontext context;
static CUstream stream;
static bool served; /* cuMemAlloc is the shim's */

static CUdeviceptr mapped(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	NEED(cuMemCreate(&handle, G, &prop, 0));
	NEED(cuMemAddressReserve(&address, G, 0, 0, 0));
	NEED(cuMemMap(address, G, 0, handle, 0));
	NEED(cuMemSetAccess(address, G, &access, 1));
	return address;
}

static CUDA_MEMCPY3D copy_of(int from, int to)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = source[from],
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = target[to],
			       .WidthInBytes = 4096,
			       .Height = 1,
			       .Depth = 1};
}

static CUDA_MEMSET_NODE_PARAMS set_of(int kind, unsigned value)
{
	return (CUDA_MEMSET_NODE_PARAMS){source[kind], 0, value, 1, 4096, 1};
}

static CUgraph graph_new(int from, int to, unsigned value, CUgraphNode *ret_set, CUgraphNode *ret_copy)
{
	CUDA_MEMSET_NODE_PARAMS set = set_of(from, value);
	CUDA_MEMCPY3D copy = copy_of(from, to);
	CUgraph graph;

	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphAddMemsetNode(ret_set, graph, NULL, 0, &set, context));
	NEED(cuGraphAddMemcpyNode(ret_copy, graph, ret_set, 1, &copy, context));
	return graph;
}

static void tell(const char *how, int from, int to, CUresult result, unsigned detail, CUresult wanted)
{
	if (result == wanted)
		return;
	printf("%s from %s to %s memory gives %d (%u), not %d\n", how, names[from], names[to], (int)result, detail,
	       (int)wanted);
	rule_broken = 1;
}

static void copied(CUgraphExec exec, int to, unsigned char wanted)
{
	unsigned char value = 0;

	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, target[to] + 4095, 1));
	WANT(value, wanted);
}

static void change(int from, int to)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUgraphNode set, copy, other_set, other_copy;
	CUgraph graph = graph_new(from, from, 1, &set, &copy), other = graph_new(to, to, 3, &other_set, &other_copy);
	CUDA_MEMSET_NODE_PARAMS set_params = set_of(to, 2);
	CUDA_MEMCPY3D copy_params = copy_of(to, to);
	bool fits = served || (from == PLAIN) == (to == PLAIN);
	CUgraphExec exec;
	CUresult result;

	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	copied(exec, from, 1);
	result = cuGraphExecMemsetNodeSetParams(exec, set, &set_params, context);
	tell("a set", from, to, result, 0, CUDA_SUCCESS);
	if (result == CUDA_SUCCESS) {
		result = cuGraphExecMemcpyNodeSetParams(exec, copy, &copy_params, context);
		tell("a copy", from, to, result, 0, fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
		if (result == CUDA_SUCCESS)
			copied(exec, to, 2);
	}
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	result = cuGraphExecUpdate(exec, other, &info);
	tell("an update", from, to, result, info.result, fits ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	if (!fits)
		WANT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	if (result == CUDA_SUCCESS)
		copied(exec, to, 3);
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	NEED(cuGraphDestroy(other));
}

int main(void)
{
	context = rule_start();
	served = dlsym(RTLD_DEFAULT, "gpushim_version") != NULL;
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int side = 0; side < 2; side++) {
		CUdeviceptr *memory = side ? target : source;

		NEED(cuMemAlloc(&memory[PLAIN], G));
		memory[MAPPED] = mapped();
		NEED(cuMemAllocAsync(&memory[POOLED], G, stream));
	}
	NEED(cuStreamSynchronize(stream));
	for (int from = 0; from < KINDS; from++) {
		for (int to = 0; to < KINDS; to++)
			change(from, to);
	}
	return rule_broken;
}
