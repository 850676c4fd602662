/* What classes of calls (shim/api/class.h) owe to launches that were put off (shim/submit/submit.h), by one call of each. Wants
 * submit:thread. Exits 1, and says which, where one does not have what its class should have.
 *
 *   flushes      what was put off reaches the driver before the call does (H17)
 *   memory       the same of memory that is the driver's; with backend:off
 *   own          the same of what gpushim itself asks of the driver within a call (H3): what is awaited is in the second word
 *   forgets      the launch after the call is made at once, whatever was known of the like of it (H18)
 *   tells CLASS  the call returns the error of a launch that was put off and refused, once; one run for each
 *   classes      prints those that tell */
#define __CUDA_API_VERSION_INTERNAL
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/sim/sim.h"

enum { BYTES = 4 << 20, LARGE_BYTES = 256 << 20, RUN = 300 };

static CUcontext context;
static CUstream stream;
static CUevent start, end;
static CUmodule module;
static CUfunction kernel;
static CUgraph graph;
static CUgraphExec exec;
static CUdeviceptr device, made_by_alloc;
static CUdeviceptr large[3];
static CUstream other;
static void *pinned;
static CUkernel library_kernel;
static unsigned char *host, buffer[4096];
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

static void need(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, result);
	exit(2);
}

#define NEED(call) need(call, #call)

/* Under the lock of the simulated driver. */
static void watch(const char *function)
{
	if (awaited != NULL && atomic_load(&awaited_made) == 0 && strstr(awaited, function) != NULL)
		atomic_store(&awaited_made, made());
	if (strcmp(function, "cuLaunchKernel") == 0)
		atomic_fetch_add(&at_once, 1);
	if (strcmp(function, "cuLaunchKernelEx") != 0)
		return;
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
	CUmemoryPool pool;
	CUdeviceptr memory;

	NEED(cuDeviceGetDefaultMemPool(&pool, 0));
	return cuMemAllocFromPoolAsync(&memory, BYTES, pool, stream);
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
	{"cooperative launch", "cuLaunchCooperativeKernel", by_cooperative, true, false, false},
	{"launch on several devices", "cuLaunchCooperativeKernelMultiDevice", by_cooperative_devices, true, false, false},
	{"old launch", "cuLaunch", by_old_launch, true, false, false},
	{"old launch of a grid", "cuLaunchGrid", by_old_grid, true, false, false},
	{"old launch of a grid on a stream", "cuLaunchGridAsync", by_old_grid_async, true, false, false},
	{"unlisted", "cuArrayDestroy", by_unlisted, true, false, false}, /* from then on nothing is put off */
};

/* Memory of one stream is given to another. */
static CUresult own_fence(void)
{
	NEED(cuMemFreeAsync(made_by_alloc, stream));
	NEED(cuMemAllocAsync(&made_by_alloc, BYTES, other));
	return cuMemFreeAsync(made_by_alloc, other);
}

/* Nobody knows of which stream it is. */
static CUresult own_fence_of_all(void)
{
	CUdeviceptr memory;

	NEED(cuMemFree_v2(large[0]));
	NEED(cuMemAlloc_v2(&memory, LARGE_BYTES));
	return cuMemFree_v2(memory);
}

/* What is idle has to go. */
static CUresult own_trim(void)
{
	return cuMemAlloc_v2(&large[0], 3 * (size_t)LARGE_BYTES);
}

/* A copy to the host is on its way, and more is put off behind it. */
static CUresult own_wait(void)
{
	NEED(cuMemcpyDtoHAsync_v2(host, device, BYTES, stream));
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	return cuMemFree_v2(made_by_alloc);
}

static CUresult own_host_free(void)
{
	return cuMemFreeHost(pinned);
}

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What is allocated is freed next. */
static const struct row of_memory[] = {
	{"alloc", "cuMemAlloc_v2", by_alloc, true, false, false},
	{"free", "cuMemFree_v2", by_free, true, false, false},
	{"alloc pitch", "cuMemAllocPitch_v2", by_alloc_pitch, true, false, false},
	{"alloc managed", "cuMemAllocManaged", by_alloc_managed, true, false, false},
	{"alloc async", "cuMemAllocAsync", by_alloc_async, true, false, false},
	{"free async", "cuMemFreeAsync", by_free_async, true, false, false},
	{"alloc from a pool", "cuMemAllocFromPoolAsync", by_alloc_from_pool, true, false, false},
};

/* The next launch will be put off. */
static void warm_up(const char *class)
{
	unsigned long before;

	NEED(cuCtxSynchronize());
	before = atomic_load(&put_off);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	if (atomic_load(&put_off) > before)
		return;
	NEED(cuCtxSynchronize());
	if (atomic_load(&put_off) > before) {
		for (unsigned i = 0; i < RUN; i++)
			NEED(by_launch());
		return;
	}
	printf("%s: nothing was put off\n", class);
	wrong = true;
}

static void flushes(const struct row *row)
{
	unsigned long before;

	warm_up(row->class);
	NEED(cuCtxSynchronize());
	before = made();
	atomic_store(&hold, true);
	for (unsigned i = 0; i < RUN; i++)
		NEED(by_launch());
	awaited = row->function;
	atomic_store(&awaited_made, 0);
	atomic_store(&hold, false);
	row->call();
	if (atomic_load(&awaited_made) != before + launches) {
		printf("%s: of %u launches %ld came first\n", row->class, launches, (long)(atomic_load(&awaited_made) - before));
		wrong = true;
	}
	awaited = NULL;
}

static void own(const char *what)
{
	struct row row = {what, "", NULL, true, false, false};

	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&made_by_alloc, BYTES, stream));
	if (strcmp(what, "fence") == 0) {
		row.function = "cuEventRecord cuCtxRecordEvent";
		row.call = own_fence;
	} else if (strcmp(what, "fence-of-all") == 0) {
		NEED(cuMemAlloc_v2(&large[0], LARGE_BYTES));
		row.function = "cuEventRecord cuCtxRecordEvent";
		row.call = own_fence_of_all;
	} else if (strcmp(what, "unmap") == 0 || strcmp(what, "release") == 0 || strcmp(what, "plain") == 0) {
		for (int i = 0; i < 3; i++)
			NEED(cuMemAlloc_v2(&large[i], LARGE_BYTES));
		for (int i = 0; i < 3; i++)
			NEED(cuMemFree_v2(large[i]));
		row.function = what[0] == 'u' ? "cuMemUnmap" : what[0] == 'r' ? "cuMemRelease" : "cuMemFree_v2";
		row.call = own_trim;
	} else if (strcmp(what, "wait") == 0) {
		launches = 2 * RUN;
		row.function = "cuCtxSynchronize";
		row.call = own_wait;
	} else {
		NEED(cuMemHostAlloc(&pinned, 64 << 20, 0));
		row.function = "cuMemFreeHost";
		row.call = own_host_free;
	}
	flushes(&row);
}

static void forgets(const struct row *row)
{
	unsigned long before;

	warm_up(row->class);
	NEED(row->call());
	before = atomic_load(&at_once);
	NEED(by_launch());
	if (atomic_load(&at_once) == before) {
		printf("%s: the launch after it was put off\n", row->class);
		wrong = true;
	}
}

static void tells(const struct row *row, char **argv)
{
	sim_fault_fired_fn *fault_fired;
	sim_fault_arm_fn *fault_arm;
	CUresult first, second;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&fault_fired = sim_find("sim_fault_fired");
	NEED(by_event());
	do {
		fault_arm("cuLaunchKernelEx", 0, 0);
		warm_up(row->class);
		NEED(by_stream()); /* flushes, and tells nothing */
		fault_arm("cuLaunchKernelEx", 1, CUDA_ERROR_NOT_SUPPORTED);
		first = by_launch();
		if (first == CUDA_ERROR_NOT_SUPPORTED) /* so soon: it tells that itself */
			execv("/proc/self/exe", argv);
		NEED(first);
		NEED(by_stream());
	} while (!wrong && fault_fired("cuLaunchKernelEx") == 0); /* until it was put off */
	first = row->call();
	second = row->call();
	if (first != CUDA_ERROR_NOT_SUPPORTED || second != CUDA_SUCCESS) {
		printf("%s: %d, then %d\n", row->class, first, second);
		wrong = true;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	sim_call_watch_fn *call_watch;
	CUlibrary library;

	for (size_t i = 0; i < ROWS && strcmp(what, "classes") == 0; i++)
		if (rows[i].tells)
			puts(rows[i].class);
	if (strcmp(what, "classes") == 0)
		return 0;
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	*(void **)&call_watch = sim_find("sim_call_watch");
	call_watch(watch);
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	NEED(cuLibraryLoadData(&library, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&library_kernel, library, "sim_delay"));
	NEED(cuFuncSetBlockShape(kernel, 32, 1, 1));
	NEED(cuEventCreate(&start, 0));
	NEED(cuEventCreate(&end, 0));
	NEED(cuMemAlloc_v2(&device, BYTES));
	NEED(cuMemHostAlloc((void **)&host, BYTES, 0));
	NEED(cuGraphCreate(&graph, 0));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuEventRecord(start, stream));
	if (strcmp(what, "own") == 0 && argc > 2)
		own(argv[2]);
	for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]) && strcmp(what, "memory") == 0; i++)
		flushes(&of_memory[i]);
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(what, "flushes") == 0 && rows[i].flushes)
			flushes(&rows[i]);
		else if (strcmp(what, "forgets") == 0 && rows[i].forgets)
			forgets(&rows[i]);
		else if (strcmp(what, "tells") == 0 && argc > 2 && strcmp(argv[2], rows[i].class) == 0)
			tells(&rows[i], argv);
	}
	return wrong;
}
