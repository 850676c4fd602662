/* A stream is held up by a host function that goes on when the program says so. One thread waits for it in some way;
 * meanwhile another makes every call of a list. Prints the calls that did not return before the stream went on: under the
 * shim they are to be among those without it. Arguments: how the first thread waits; calls, if not all. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/gpushim.h"
#include "tests/conformance/rule_drv.h"

enum { KIB = 1 << 10, MIB = 1 << 20, SHORT_MS = 40, LONG_MS = 1000 };

static CUcontext context, own; /* the primary one, and that of the held stream if it has one of its own */
static CUstream held, other, third;
static CUdeviceptr freed_by_first, block, async, asked, opened;
static void *pinned, *pinned_by_first, *to_register;
static CUevent event;
static CUgraph graph;
static CUgraphExec exec;
static CUfunction delay;
static volatile int go, entered;
static bool shared; /* another process shares memory */
static CUipcMemHandle shared_handles[2];

static void hold(void *unused)
{
	(void)unused;
	entered = 1;
	while (!go)
		usleep(100);
}

static void launch(CUstream stream)
{
	unsigned steps = 1;
	void *params[] = {&steps};

	cuLaunchKernel(delay, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

/* --- how the first thread waits ----------------------------------------------------------------------------------- */

static void wait_not(void)
{
}

static void wait_synchronize(void)
{
	cuCtxSynchronize();
}

static void wait_free(void)
{
	cuMemFree(freed_by_first);
}

static void wait_free_host(void)
{
	cuMemFreeHost(pinned_by_first);
}

static void wait_destroy(void)
{
	cuCtxDestroy(own);
}

/* What is lacking is held up by the stream. */
static void wait_memory(void)
{
	CUdeviceptr large;

	if (cuMemAlloc(&large, (size_t)800 * MIB) == CUDA_SUCCESS)
		cuMemFree(large);
}

static void wait_close(void)
{
	cuIpcCloseMemHandle(opened);
}

static const struct way {
	const char *name;
	void (*wait)(void);
} ways[] = {
	{"not", wait_not},	   {"synchronize", wait_synchronize}, {"free", wait_free}, {"free-host", wait_free_host},
	{"destroy", wait_destroy}, {"memory", wait_memory},	      {"close", wait_close},
};

static const struct way *way;

static void *first(void *unused)
{
	NEED(cuCtxSetCurrent(context));
	way->wait();
	return unused;
}

/* --- what the second does ------------------------------------------------------------------------------------------ */

#define CALL(name, ...) static void call_##name(void) { __VA_ARGS__ }
CALL(alloc_small, CUdeviceptr a; cuMemAlloc(&a, 700);)
CALL(alloc, CUdeviceptr a; cuMemAlloc(&a, 3 * MIB + 5);)
CALL(alloc_large, CUdeviceptr a; cuMemAlloc(&a, 70 * MIB);)
CALL(alloc_managed, CUdeviceptr a; cuMemAllocManaged(&a, MIB, CU_MEM_ATTACH_GLOBAL);)
CALL(alloc_async, CUdeviceptr a; cuMemAllocAsync(&a, 5 * MIB, other);)
CALL(alloc_async_third, CUdeviceptr a; cuMemAllocAsync(&a, 9 * MIB, third);)
CALL(alloc_refused, CUdeviceptr a; cuMemAlloc(&a, (size_t)1 << 40);)
CALL(free_async, cuMemFreeAsync(async, other);)
CALL(free_unknown, cuMemFree(4096);)
CALL(free_twice, cuMemFreeAsync(block + 256, other);)
CALL(free_null, cuMemFree(0);)
CALL(free, cuMemFree(block);)
CALL(host_alloc, void *a; cuMemHostAlloc(&a, 12345, 0);)
CALL(host_alloc_large, void *a; cuMemHostAlloc(&a, 9 * MIB, 0);)
CALL(host_alloc_same, void *a; cuMemHostAlloc(&a, MIB, 0);)
CALL(host_free, cuMemFreeHost(pinned);)
CALL(host_register, cuMemHostRegister(to_register, MIB, 0);)
CALL(memset, cuMemsetD32Async(asked, 3, 16, other);)
CALL(copy, cuMemcpyDtoDAsync(asked, asked + 64, 16, other);)
CALL(launch, launch(other);)
CALL(record, cuEventRecord(event, other);)
CALL(event_query, cuEventQuery(event);)
CALL(event_synchronize, cuEventRecord(event, other); cuEventSynchronize(event);)
CALL(event_make, CUevent e; cuEventCreate(&e, 0); cuEventDestroy(e);)
CALL(wait_event, cuStreamWaitEvent(third, event, 0);)
CALL(query, cuStreamQuery(other);)
CALL(synchronize, cuStreamSynchronize(other);)
CALL(stream_make, CUstream s; cuStreamCreate(&s, CU_STREAM_NON_BLOCKING); launch(s); cuStreamDestroy(s);)
CALL(stream_end, cuStreamDestroy(third);)
CALL(stream_end_held, cuStreamDestroy(held);)
CALL(info, size_t a, b; cuMemGetInfo(&a, &b);)
CALL(attribute, CUmemorytype t; cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, asked);)
CALL(range, CUdeviceptr a; size_t b; cuMemGetAddressRange(&a, &b, asked);)
CALL(trim, CUmemoryPool p; cuDeviceGetDefaultMemPool(&p, 0); cuMemPoolTrimTo(p, 0);)
CALL(pool, CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemoryPool p; CUdeviceptr a; cuMemPoolCreate(&p, &props); cuMemAllocFromPoolAsync(&a, MIB, p, other);)
CALL(create, CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h; cuMemCreate(&h, 2 * MIB, &props, 0); cuMemRelease(h);)
CALL(ipc, CUipcMemHandle h; cuIpcGetMemHandle(&h, asked);)
CALL(ipc_open, CUdeviceptr a; if (shared) cuIpcOpenMemHandle(&a, shared_handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);)
CALL(module, CUmodule m; cuModuleLoadData(&m, rule_image());)
CALL(instantiate, CUgraphExec e; cuGraphInstantiateWithFlags(&e, graph, 0); cuGraphExecDestroy(e);)
CALL(graph_launch, cuGraphLaunch(exec, other);)
CALL(capture, CUgraph g; cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED); launch(other); cuStreamEndCapture(other, &g);)
CALL(context_make, CUcontext c; cuDevicePrimaryCtxRetain(&c, 0); cuDevicePrimaryCtxRelease(0);)
#if CUDA_VERSION >= 13000
#define MAKE(c) cuCtxCreate(c, NULL, 0, 0)
#else
#define MAKE(c) cuCtxCreate(c, 0, 0)
#endif
CALL(context_end, CUcontext c; MAKE(&c); cuCtxDestroy(c);)
CALL(snapshot, __typeof__(&gpushim_snapshot) f = (__typeof__(f))dlsym(RTLD_DEFAULT, "gpushim_snapshot"); if (f) f(NULL, 0);)
CALL(give_back, __typeof__(&gpushim_trim) f = (__typeof__(f))dlsym(RTLD_DEFAULT, "gpushim_trim"); if (f) f(0, 0);)
CALL(often, for (int i = 0; i < 300; i++) { cuStreamQuery(other); launch(other); usleep(20); } cuStreamSynchronize(other);)

static const struct call {
	const char *name;
	void (*make)(void);
} calls[] = {
#define ROW(name) {#name, call_##name}
	ROW(info), ROW(attribute), ROW(range), ROW(event_make), ROW(memset), ROW(copy), ROW(launch), ROW(record), ROW(event_query),
	ROW(event_synchronize), ROW(wait_event), ROW(query), ROW(synchronize), ROW(stream_make), ROW(often), ROW(graph_launch),
	ROW(instantiate), ROW(module), ROW(capture), ROW(snapshot), ROW(alloc_small), ROW(alloc),
	ROW(alloc_large), ROW(alloc_managed), ROW(alloc_async), ROW(alloc_async_third), ROW(alloc_refused), ROW(free_async), ROW(free_unknown),
	ROW(free_twice), ROW(free_null), ROW(host_alloc), ROW(host_alloc_large), ROW(host_alloc_same), ROW(host_register), ROW(trim),
	ROW(give_back), ROW(pool), ROW(create), ROW(ipc), ROW(ipc_open), ROW(context_make), ROW(context_end), ROW(stream_end), ROW(stream_end_held),
	ROW(free), ROW(host_free),
#undef ROW
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static volatile int done;

static void *second(void *call)
{
	NEED(cuCtxSetCurrent(context));
	((const struct call *)call)->make();
	done = 1;
	return NULL;
}

/* --- the scene ---------------------------------------------------------------------------------------------------- */

static bool within(volatile int *flag, int ms)
{
	for (int i = 0; i < ms * 10 && !*flag; i++)
		usleep(100);
	return *flag;
}

/* Memory that was freed behind the held work, in every way; and such that was freed before. */
static void litter(void)
{
	CUdeviceptr a[6];

	for (int i = 0; i < 6; i++)
		NEED(cuMemAllocAsync(&a[i], (1 << i) * MIB / 2, i % 2 ? other : held));
	for (int i = 0; i < 4; i++)
		NEED(cuMemFreeAsync(a[i], i < 2 ? held : third));
	NEED(cuMemFreeAsync(a[4], other));
	NEED(cuMemFreeAsync(a[5], other));
}

static void scene_begin(void)
{
	CUdeviceptr large;

	own = NULL;
	go = entered = 0;
	NEED(cuCtxSetCurrent(context));
	if (way->wait == wait_destroy)
		NEED(MAKE(&own));
	NEED(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&block, 300 * KIB));
	NEED(cuMemAlloc(&freed_by_first, 3 * MIB));
	NEED(cuMemAlloc(&asked, 2 * MIB));
	NEED(cuMemAllocAsync(&async, MIB, other));
	NEED(cuMemHostAlloc(&pinned, MIB, 0));
	NEED(cuMemHostAlloc(&pinned_by_first, MIB, 0));
	if (shared)
		NEED(cuIpcOpenMemHandle(&opened, shared_handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	NEED(cuEventRecord(event, other));
	launch(other);
	NEED(cuMemAllocAsync(&large, (size_t)(way->wait == wait_memory ? 700 : 30) * MIB, other));
	NEED(cuStreamSynchronize(other));
	NEED(cuLaunchHostFunc(held, hold, NULL));
	if (own == NULL) {
		NEED(cuMemcpyDtoHAsync(pinned, asked, 64, held));
		NEED(cuMemFreeAsync(large, held));
		litter();
	} else {
		NEED(cuMemFreeAsync(large, other));
	}
	cuStreamQuery(held);
}

static void scene_end(pthread_t *threads)
{
	go = 1;
	NEED(pthread_join(threads[0], NULL));
	NEED(pthread_join(threads[1], NULL));
	cuCtxSynchronize();
}

static bool try(const struct call *call)
{
	pthread_t threads[2];
	bool passed;

	scene_begin();
	NEED(pthread_create(&threads[0], NULL, first, NULL));
	if (!within(&entered, 2000))
		printf("%s: not held\n", call->name);
	usleep(SHORT_MS * 1000);
	done = 0;
	NEED(pthread_create(&threads[1], NULL, second, (void *)call));
	passed = within(&done, LONG_MS);
	scene_end(threads);
	return passed;
}

static void prepare(void)
{
	context = rule_start();
	delay = rule_kernel("sim_delay");
	to_register = aligned_alloc(4096, MIB);
	NEED(cuEventCreate(&event, 0));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(other);
	NEED(cuStreamEndCapture(other, &graph));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

/* Shares memory with those that come, until the parent ends. */
static void share(void)
{
	int ends[2];

	if (way->wait != wait_close || pipe(ends) != 0)
		return;
	if (fork() == 0) {
		CUipcMemHandle handles[2];
		CUdeviceptr memory;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rule_start();
		for (int i = 0; i < 2; i++) {
			NEED(cuMemAlloc(&memory, 4 * MIB));
			NEED(cuIpcGetMemHandle(&handles[i], memory));
		}
		if (write(ends[1], handles, sizeof(handles)) != sizeof(handles))
			exit(1);
		for (;;)
			pause();
	}
	shared = read(ends[0], shared_handles, sizeof(shared_handles)) == sizeof(shared_handles);
}

/* Each in a process of its own. */
static void run(const struct call *call)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		prepare();
		if (!try(call))
			printf("%s\n", call->name);
		exit(rule_broken);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		printf("%s: ended badly\n", call->name);
}

static bool is_among(const char *name, char **names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

int main(int count, char **arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].name, arguments[1]) == 0)
			way = &ways[i];
	if (way == NULL)
		return 2;
	share();
	for (size_t i = 0; i < CALLS; i++)
		if (count < 3 || is_among(calls[i].name, arguments + 2))
			run(&calls[i]);
	return 0;
}
