/* The calls of drv_put_off.c, one of each class, and what they owe. */
#ifndef PUT_OFF_H
#define PUT_OFF_H

#define __CUDA_API_VERSION_INTERNAL
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { BYTES = 4 << 20, LARGE_BYTES = 256 << 20, RUN = 3000 };

static CUcontext context;
static CUstream stream;
static CUevent start, end;
static CUmodule module;
static CUfunction kernel;
static CUgraph graph;
static CUgraphExec exec;
static CUdeviceptr device, made_by_alloc;
static CUmemoryPool default_pool;
static CUdeviceptr large[3];
static CUstream other;
static CUfunction loaded_again;
static CUkernel library_kernel;
static unsigned char *host, buffer[4096];
static pthread_t main_thread;
static unsigned launches = RUN; /* that are awaited */
static bool wrong;

static _Atomic bool hold;			 /* the next launch that was put off, but not for long */
static _Atomic unsigned long at_once, put_off; /* launches that have reached the driver */
static const char *awaited;			 /* function of the driver, and launches when it was called first */
static _Atomic unsigned long awaited_made;

static unsigned long made(void)
{
	return atomic_load(&at_once) + atomic_load(&put_off);
}

/* Under the lock of the simulated driver. */
static void watch(const char *function)
{
	if (awaited != NULL && pthread_equal(pthread_self(), main_thread) && atomic_load(&awaited_made) == 0 &&
	    strstr(awaited, function) != NULL)
		atomic_store(&awaited_made, made());
	if (strncmp(function, "cuLaunchKernel", strlen("cuLaunchKernel")) != 0)
		return;
	if (pthread_equal(pthread_self(), main_thread)) {
		atomic_fetch_add(&at_once, 1);
		return;
	}
	for (unsigned ms = 0; ms < 20 && atomic_load(&hold); ms++)
		usleep(1000);
	atomic_store(&hold, false);
	atomic_fetch_add(&put_off, 1);
}

static CUresult by_launch(void)
{
	unsigned steps = 1;

	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL);
}

static CUresult by_cooperative(void)
{
	unsigned steps = 1;

	return cuLaunchCooperativeKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps});
}

static CUresult by_cooperative_devices(void)
{
	unsigned steps = 1;
	CUDA_LAUNCH_PARAMS launch = {.function = kernel,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .hStream = stream,
				     .kernelParams = (void *[]){&steps}};

	return cuLaunchCooperativeKernelMultiDevice(&launch, 1, 0);
}

static CUresult by_old_launch(void)
{
	return cuLaunch(kernel);
}

static CUresult by_old_grid(void)
{
	return cuLaunchGrid(kernel, 1, 1);
}

static CUresult by_old_grid_async(void)
{
	return cuLaunchGridAsync(kernel, 1, 1, stream);
}

static CUresult by_attribute(void)
{
	static int bytes;

	return cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes += 1024);
}

static CUresult by_kernel_attribute(void)
{
	static int bytes;

	return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes += 1024, library_kernel, 0);
}

static CUresult by_unload(void)
{
	CUmodule another;

	NEED(cuModuleLoadData(&another, "simulated"));
	return cuModuleUnload(another);
}

static CUresult by_library_unload(void)
{
	CUlibrary another;

	NEED(cuLibraryLoadData(&another, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	return cuLibraryUnload(another);
}

static CUfunction again(const char *name)
{
	static CUmodule code;
	CUfunction function;

	if (code != NULL)
		NEED(cuModuleUnload(code));
	NEED(cuModuleLoadData(&code, "simulated"));
	NEED(cuModuleGetFunction(&function, code, name));
	return function;
}

static CUresult by_attribute_again(void)
{
	return cuFuncSetAttribute(loaded_again, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048);
}

static CUresult by_alloc(void)
{
	return cuMemAlloc_v2(&made_by_alloc, BYTES);
}

static CUresult by_free(void)
{
	return cuMemFree_v2(made_by_alloc);
}

static CUresult by_alloc_pitch(void)
{
	CUdeviceptr memory;
	size_t pitch;

	return cuMemAllocPitch_v2(&memory, &pitch, 1000, 10, 4);
}

static CUresult by_alloc_managed(void)
{
	CUdeviceptr memory;

	return cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL);
}

static CUresult by_alloc_async(void)
{
	return cuMemAllocAsync(&made_by_alloc, BYTES, stream);
}

static CUresult by_free_async(void)
{
	return cuMemFreeAsync(made_by_alloc, stream);
}

static CUresult by_alloc_from_pool(void)
{
	CUdeviceptr memory;

	return cuMemAllocFromPoolAsync(&memory, BYTES, default_pool, stream);
}

static CUresult by_launch_ex(void)
{
	static CUlaunchAttribute attributes[] = {
		{.id = CU_LAUNCH_ATTRIBUTE_IGNORE},
		{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {1, 1, 1}},
	};
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				 .hStream = stream, .attrs = attributes, .numAttrs = 2};
	unsigned steps = 1;

	attributes[0].value.pad[0]++; /* says nothing */
	return cuLaunchKernelEx(&config, kernel, (void *[]){&steps}, NULL);
}

static CUresult by_context(void)
{
	return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048);
}

static CUresult by_host_alloc(void)
{
	return cuMemHostRegister_v2(buffer, sizeof(buffer), 0);
}

static CUresult by_host_free(void)
{
	return cuMemHostUnregister(buffer);
}

static CUresult by_pool(void)
{
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool pool;

	return cuMemPoolCreate(&pool, &properties);
}

static CUresult by_vmm(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;

	return cuMemCreate(&handle, BYTES, &properties, 0);
}

static CUresult by_ipc(void)
{
	CUipcEventHandle handle;

	return cuIpcGetEventHandle(&handle, end);
}

static CUresult by_copy(void)
{
	return cuMemcpyHtoD_v2(device, host, BYTES);
}

static CUresult by_copy_async(void)
{
	return cuMemcpyHtoDAsync_v2(device, host, BYTES, stream);
}

static CUresult by_set(void)
{
	return cuMemsetD8_v2(device, 7, BYTES);
}

static CUresult by_set_async(void)
{
	return cuMemsetD8Async(device, 7, BYTES, stream);
}

static CUresult by_graph_launch(void)
{
	return cuGraphLaunch(exec, stream);
}

static CUresult by_graph(void)
{
	CUgraphExec another;

	return cuGraphInstantiateWithFlags(&another, graph, 0);
}

static CUresult by_event(void)
{
	return cuEventRecord(end, stream);
}

static CUresult by_context_event(void)
{
	return cuCtxRecordEvent(context, end);
}

static CUresult by_wait_event(void)
{
	return cuStreamWaitEvent(stream, end, 0);
}

static CUresult by_stream(void)
{
	CUstream another;

	return cuStreamCreate(&another, CU_STREAM_NON_BLOCKING);
}

static CUresult by_capture(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

	return cuThreadExchangeStreamCaptureMode(&mode);
}

static void nothing(void *user)
{
	(void)user;
}

static CUresult by_host_func(void)
{
	return cuLaunchHostFunc(stream, nothing, NULL);
}

static CUresult by_mem_op(void)
{
	return cuStreamWriteValue32_v2(stream, device, 7, 0);
}

static CUresult by_sync(void)
{
	return cuEventSynchronize(start);
}

static CUresult by_poll(void)
{
	return cuStreamQuery(stream);
}

static CUresult by_time(void)
{
	float ms;

	return cuEventElapsedTime(&ms, start, end);
}

static CUresult by_module(void)
{
	CUmodule another;

	return cuModuleLoadData(&another, "simulated");
}

static CUresult by_function(void)
{
	return cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1);
}

static CUresult by_unlisted(void)
{
	CUresult (*array_destroy)(CUarray);
	CUdriverProcAddressQueryResult found;

	NEED(cuGetProcAddress_v2("cuArrayDestroy", (void **)&array_destroy, 13000, 0, &found));
	return array_destroy(NULL);
}

static const struct row {
	const char *class, *function;
	CUresult (*call)(void);
	bool flushes, forgets, tells;
} rows[] = {
	{"context", "cuCtxSetLimit", by_context, true, true, false},
	{"host_alloc", "cuMemHostRegister_v2", by_host_alloc, true, false, false},
	{"host_free", "cuMemHostUnregister", by_host_free, true, false, false},
	{"pool", "cuMemPoolCreate", by_pool, true, false, false},
	{"vmm", "cuMemCreate", by_vmm, true, false, false},
	{"ipc", "cuIpcGetEventHandle", by_ipc, true, false, false},
	{"copy", "cuMemcpyHtoD_v2", by_copy, true, false, true},
	{"copy_async", "cuMemcpyHtoDAsync_v2", by_copy_async, true, false, true},
	{"set", "cuMemsetD8_v2", by_set, true, false, true},
	{"set_async", "cuMemsetD8Async", by_set_async, true, false, true},
	{"launch", "cuLaunchKernel", by_launch, false, false, true},
	{"graph_launch", "cuGraphLaunch", by_graph_launch, true, false, true},
	{"graph", "cuGraphInstantiateWithFlags", by_graph, true, false, false},
	{"event", "cuEventRecord", by_event, true, false, true},
	{"wait_event", "cuStreamWaitEvent", by_wait_event, true, false, true},
	{"context_event", "cuCtxRecordEvent", by_context_event, true, false, true},
	{"stream", "cuStreamCreate", by_stream, true, false, false},
	{"capture", "cuThreadExchangeStreamCaptureMode", by_capture, true, false, false},
	{"host_func", "cuLaunchHostFunc", by_host_func, true, false, true},
	{"mem_op", "cuStreamWriteValue32_v2", by_mem_op, true, false, true},
	{"sync", "cuEventSynchronize", by_sync, true, false, true},
	{"poll", "cuStreamQuery", by_poll, true, false, true},
	{"time", "cuEventElapsedTime", by_time, true, false, true},
	{"module", "cuModuleLoadData", by_module, true, false, false},
	{"function", "cuFuncSetCacheConfig", by_function, true, true, false},
	{"attribute", "cuFuncSetAttribute", by_attribute, true, true, false},
	{"attribute of a kernel", "cuKernelSetAttribute", by_kernel_attribute, true, true, false},
	{"unload", "cuModuleUnload", by_unload, false, true, false},
	{"unload of a library", "cuLibraryUnload", by_library_unload, false, true, false},
	{"attribute of what was loaded again", "cuFuncSetAttribute", by_attribute_again, true, false, false},
	{"cooperative launch", "cuLaunchCooperativeKernel", by_cooperative, true, false, false},
	{"launch on several devices", "cuLaunchCooperativeKernelMultiDevice", by_cooperative_devices, true, false, false},
	{"old launch", "cuLaunch", by_old_launch, true, false, false},
	{"old launch of a grid", "cuLaunchGrid", by_old_grid, true, false, false},
	{"old launch of a grid on a stream", "cuLaunchGridAsync", by_old_grid_async, true, false, false},
	{"unlisted", "cuArrayDestroy", by_unlisted, true, false, false}, /* from then on nothing is put off */
};

#endif
