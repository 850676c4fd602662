/* What the shim does for each class of calls (shim/api/class.h), by one call of each. Exits 1, and says which, where
 * one does not have what its class should have.
 *
 *   takes     the driver lacks memory for the call, and has it once the shim gives back what it keeps (H28)
 *   to-host   a free of other memory waits for what the call may still write on the host (H4)
 *   submits   a free of pinned memory waits, since the device may have something to do with it (H8)
 *   timed     only makes the calls: how long each took is in the snapshot */
#define __CUDA_API_VERSION_INTERNAL
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { IDLE_BYTES = 32 << 20, BYTES = 4 << 20 };

static CUcontext context;
static CUstream stream;
static CUevent event;
static CUmodule module;
static CUfunction kernel;
static CUgraph graph;
static CUgraphExec exec;
static CUdeviceptr device;
static unsigned char *host;
static bool wrong;

static CUresult launch(unsigned steps)
{
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL);
}

/* A graph that takes its time, and then copies `device` to `host`. */
static void graph_new(void)
{
	unsigned steps = 50;
	CUDA_KERNEL_NODE_PARAMS_v2 work = {.func = kernel,
					   .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = (void *[]){&steps}};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = device,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = host,
			      .WidthInBytes = BYTES,
			      .Height = 1,
			      .Depth = 1};
	CUgraphNode first, second;

	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &work));
	NEED(cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, context));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

static CUresult by_context(void)
{
	CUcontext another;
	CUresult result = cuCtxCreate_v2(&another, 0, 0);

	if (result == CUDA_SUCCESS)
		NEED(cuCtxDestroy_v2(another));
	return result;
}

/* More each time, so that what is kept does not serve it. */
static CUresult by_host_alloc(void)
{
	static size_t bytes = BYTES;
	void *memory;
	CUresult result = cuMemAllocHost_v2(&memory, bytes *= 2);

	if (result == CUDA_SUCCESS)
		NEED(cuMemFreeHost(memory));
	return result;
}

static CUresult by_pool(void)
{
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool pool;
	CUresult result = cuMemPoolCreate(&pool, &properties);

	if (result == CUDA_SUCCESS)
		NEED(cuMemPoolDestroy(pool));
	return result;
}

static CUresult by_vmm(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUresult result = cuMemCreate(&handle, BYTES, &properties, 0);

	if (result == CUDA_SUCCESS)
		NEED(cuMemRelease(handle));
	return result;
}

static CUresult by_map(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr place;
	CUresult result;

	NEED(cuMemCreate(&handle, BYTES, &properties, 0));
	NEED(cuMemAddressReserve(&place, BYTES, 0, 0, 0));
	result = cuMemMap(place, BYTES, 0, handle, 0);
	if (result == CUDA_SUCCESS)
		NEED(cuMemUnmap(place, BYTES));
	NEED(cuMemAddressFree(place, BYTES));
	NEED(cuMemRelease(handle));
	return result;
}

static CUresult by_launch(void)
{
	return launch(1);
}

static CUresult by_graph_launch(void)
{
	return cuGraphLaunch(exec, stream);
}

static CUresult by_graph(void)
{
	CUgraphExec another;
	CUresult result = cuGraphInstantiateWithFlags(&another, graph, 0);

	if (result == CUDA_SUCCESS)
		NEED(cuGraphExecDestroy(another));
	return result;
}

static CUresult by_stream(void)
{
	CUstream another;
	CUresult result = cuStreamCreate(&another, CU_STREAM_NON_BLOCKING);

	if (result == CUDA_SUCCESS)
		NEED(cuStreamDestroy_v2(another));
	return result;
}

static CUresult by_module(void)
{
	CUmodule another;
	CUresult result = cuModuleLoadData(&another, "simulated");

	if (result == CUDA_SUCCESS)
		NEED(cuModuleUnload(another));
	return result;
}

static CUresult by_function(void)
{
	return cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1);
}

static CUresult by_attribute(void)
{
	return cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
}

static void takes(void)
{
	static const struct {
		const char *function;
		CUresult (*call)(void);
	} rows[] = {
	    {"cuCtxCreate_v2", by_context},
	    {"cuMemAllocHost_v2", by_host_alloc},
	    {"cuMemPoolCreate", by_pool},
	    {"cuMemCreate", by_vmm},
	    {"cuMemMap", by_map},
	    {"cuLaunchKernel", by_launch},
	    {"cuGraphLaunch", by_graph_launch},
	    {"cuGraphInstantiateWithFlags", by_graph},
	    {"cuStreamCreate", by_stream},
	    {"cuModuleLoadData", by_module},
	    {"cuFuncSetCacheConfig", by_function},
	    {"cuFuncSetAttribute", by_attribute},
	};
	sim_fault_arm_fn *fault_arm;
	sim_fault_fired_fn *fault_fired;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&fault_fired = sim_find("sim_fault_fired");
	for (size_t twice = 0; twice < 2 * sizeof(rows) / sizeof(rows[0]); twice++) {
		bool idle = twice % 2 == 0; /* else it is still in use when it is asked for */
		size_t i = twice / 2;
		CUdeviceptr memory;
		CUresult result;
		unsigned fired;

		NEED(cuMemAllocAsync(&memory, IDLE_BYTES, stream));
		NEED(idle ? cuStreamSynchronize(stream) : launch(50));
		NEED(cuMemFreeAsync(memory, stream));
		fired = fault_fired(rows[i].function);
		fault_arm(rows[i].function, 1, CUDA_ERROR_OUT_OF_MEMORY);
		result = rows[i].call();
		if (result == CUDA_SUCCESS && fault_fired(rows[i].function) == fired + 1)
			continue;
		printf("%s, %s: %d, fired %u\n", rows[i].function, idle ? "idle" : "in use", result,
		       fault_fired(rows[i].function));
		wrong = true;
	}
}

static CUresult to_host_copy(void)
{
	NEED(launch(50));
	return cuMemcpyDtoHAsync_v2(host, device, BYTES, stream);
}

static CUresult to_host_graph(void)
{
	return cuGraphLaunch(exec, stream);
}

static CUresult to_host_mem_op(void)
{
	CUdeviceptr mapped;

	NEED(cuMemHostGetDevicePointer_v2(&mapped, host, 0));
	NEED(launch(50));
	return cuStreamWriteValue32_v2(stream, mapped + BYTES - 4, 0x07070707, 0);
}

/* As what nobody knows may do: by itself it counts as nothing. */
static void write_on_host(void)
{
	CUdeviceptr mapped;

	NEED(cuMemHostGetDevicePointer_v2(&mapped, host, 0));
	NEED(launch(50));
	NEED(cuMemsetD8Async(mapped, 7, BYTES, stream));
}

/* The table does not list it; here it is not supported. */
static CUresult to_host_unlisted(void)
{
	CUresult (*array_destroy)(CUarray);
	CUdriverProcAddressQueryResult found;

	NEED(cuGetProcAddress_v2("cuArrayDestroy", (void **)&array_destroy, 13000, 0, &found));
	write_on_host();
	array_destroy(NULL);
	return CUDA_SUCCESS;
}

/* From then on for good: whoever has it may do everything unseen. */
static CUresult to_host_table(void)
{
	static const CUuuid unknown = {"nobody knows it"};
	const void *table;

	cuGetExportTable(&table, &unknown);
	write_on_host();
	return CUDA_SUCCESS;
}

static void to_host(void)
{
	static CUresult (*const calls[])(void) = {to_host_copy, to_host_graph, to_host_mem_op, to_host_unlisted,
						  to_host_table};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CUdeviceptr other;

		memset(host, 0, BYTES);
		NEED(cuMemAlloc_v2(&other, BYTES));
		NEED(calls[i]());
		NEED(cuMemFree_v2(other));
		if (host[BYTES - 1] != 7) {
			printf("call %zu: the free did not wait\n", i);
			wrong = true;
		}
		NEED(cuCtxSynchronize());
	}
}

static void nothing(void *user)
{
	(void)user;
}

static CUresult submits_nothing(void)
{
	return CUDA_SUCCESS;
}

static CUresult submits_context(void)
{
	return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048);
}

static CUresult submits_ipc(void)
{
	return cuIpcCloseMemHandle(0);
}

static CUresult submits_copy(void)
{
	return cuMemcpyHtoD_v2(device, host, BYTES);
}

static CUresult submits_copy_async(void)
{
	return cuMemcpyHtoDAsync_v2(device, host, BYTES, stream);
}

static CUresult submits_set(void)
{
	return cuMemsetD8_v2(device, 7, BYTES);
}

static CUresult submits_set_async(void)
{
	return cuMemsetD8Async(device, 7, BYTES, stream);
}

static CUresult submits_event(void)
{
	return cuEventRecord(event, stream);
}

static CUresult submits_wait_event(void)
{
	return cuStreamWaitEvent(stream, event, 0);
}

static CUresult submits_context_event(void)
{
	return cuCtxRecordEvent(context, event);
}

static CUresult submits_capture(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

	return cuThreadExchangeStreamCaptureMode(&mode);
}

static CUresult submits_host_func(void)
{
	return cuLaunchHostFunc(stream, nothing, NULL);
}

static CUresult submits_mem_op(void)
{
	return cuStreamWriteValue32_v2(stream, device, 7, 0);
}

static CUresult submits_unlisted(void)
{
	CUresult (*array_destroy)(CUarray);
	CUdriverProcAddressQueryResult found;

	NEED(cuGetProcAddress_v2("cuArrayDestroy", (void **)&array_destroy, 13000, 0, &found));
	return array_destroy(NULL);
}

static void submits(void)
{
	static const struct {
		const char *class;
		CUresult (*call)(void);
	} rows[] = {
	    {"nothing", submits_nothing}, /* the only one after which a free does not wait */
	    {"context", submits_context},
	    {"pool", by_pool},
	    {"vmm", by_vmm},
	    {"ipc", submits_ipc},
	    {"copy", submits_copy},
	    {"copy_async", submits_copy_async},
	    {"set", submits_set},
	    {"set_async", submits_set_async},
	    {"launch", by_launch},
	    {"graph_launch", by_graph_launch},
	    {"graph", by_graph},
	    {"event", submits_event},
	    {"wait_event", submits_wait_event},
	    {"context_event", submits_context_event},
	    {"stream", by_stream},
	    {"capture", submits_capture},
	    {"host_func", submits_host_func},
	    {"mem_op", submits_mem_op},
	    {"module", by_module},
	    {"function", by_function},
	    {"attribute", by_attribute},
	    {"unlisted", submits_unlisted}, /* from then on all do */
	};
	sim_calls_fn *calls;

	*(void **)&calls = sim_find("sim_calls");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned long before;
		void *memory;
		bool waited;

		NEED(cuMemAllocHost_v2(&memory, BYTES));
		NEED(cuCtxSynchronize());
		rows[i].call();
		before = calls("cuCtxSynchronize");
		NEED(cuMemFreeHost(memory));
		waited = calls("cuCtxSynchronize") > before;
		if (waited == (rows[i].call != submits_nothing))
			continue;
		printf("%s: the free %s\n", rows[i].class, waited ? "waited" : "did not wait");
		wrong = true;
	}
}

static void timed(void)
{
	CUdeviceptr memory;

	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemcpyHtoD_v2(memory, host, BYTES));
	NEED(cuMemcpyHtoDAsync_v2(memory, host, BYTES, stream));
	NEED(cuMemFree_v2(memory));
	NEED(by_host_alloc());
	NEED(by_launch());
	NEED(by_graph_launch());
	NEED(by_module());
	NEED(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc_v2(&device, BYTES));
	NEED(cuMemHostAlloc((void **)&host, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
	NEED(cuMemsetD8_v2(device, 7, BYTES));
	NEED(cuCtxSynchronize());
	graph_new();
	if (strcmp(what, "takes") == 0)
		takes();
	else if (strcmp(what, "to-host") == 0)
		to_host();
	else if (strcmp(what, "submits") == 0)
		submits();
	else if (strcmp(what, "timed") == 0)
		timed();
	else
		return 2;
	return wrong;
}
