/* What a process does that runs for weeks: argv[1] says what is made and ended, argv[2] how often. Prints for each tenth of the
 * rounds what one took and by how much the process had grown since the first tenth, and last how the last tenth compares.
 *
 * Growth and time are the simulated driver's, too: what the shim adds shows beside a run without it. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

/* What newer headers call cuCtxCreate takes more. */
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);

enum { CROWD = 256, STREAMS = 64, TENTHS = 10 };

static CUcontext context;
static CUmodule module;
static CUfunction kernel;
static CUdeviceptr words;
static CUstream streams[STREAMS], stream;
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * below >> 28);
}

static void launch_of(CUfunction function, CUstream on)
{
	uint32_t value = 7;
	uint64_t count = 4;

	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, on, (void *[]){&words, &value, &count}, NULL));
}

static void launch(CUstream on)
{
	launch_of(kernel, on);
}

/* --- what a round is ----------------------------------------------------------------------------------------------- */

static void stream_use(unsigned flags, bool wait)
{
	CUdeviceptr memory;
	CUstream own;

	NEED(cuStreamCreate(&own, flags));
	NEED(cuMemAllocAsync(&memory, 512 + draw(1 << 20), own));
	launch(own);
	NEED(cuMemFreeAsync(memory, own));
	if (wait)
		NEED(cuStreamSynchronize(own));
	NEED(cuStreamDestroy(own));
}

static void by_stream(unsigned round)
{
	(void)round;
	stream_use(CU_STREAM_NON_BLOCKING, true);
}

static void by_blocking_stream(unsigned round)
{
	(void)round;
	stream_use(CU_STREAM_DEFAULT, true);
}

static void by_stream_left(unsigned round)
{
	stream_use(CU_STREAM_NON_BLOCKING, false);
	if (round % 128 == 0)
		NEED(cuCtxSynchronize());
}

/* Many streams at a time, all with memory that waits. */
static void by_many_streams(unsigned round)
{
	CUstream on = streams[round % STREAMS];
	CUdeviceptr memory;

	NEED(cuMemAllocAsync(&memory, 512 + draw(1 << 18), on));
	launch(on);
	NEED(cuMemFreeAsync(memory, on));
	if (round % 997 == 0)
		NEED(cuStreamSynchronize(on));
}

static void by_event(unsigned round)
{
	CUevent event;

	(void)round;
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	launch(stream);
	NEED(cuEventRecord(event, stream));
	NEED(cuStreamWaitEvent(streams[0], event, 0));
	NEED(cuEventSynchronize(event));
	NEED(cuEventDestroy(event));
}

/* All that the context has dies with it, but for what is a pool's. */
static void by_context(unsigned round)
{
	CUdeviceptr memory, managed, pooled;
	CUstream blocking;
	CUcontext own;
	void *host;

	(void)round;
	NEED(cuCtxCreate_v2(&own, 0, 0));
	NEED(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	NEED(cuMemAllocAsync(&memory, 1 << 20, blocking));
	NEED(cuMemFreeAsync(memory, blocking));
	NEED(cuMemAlloc(&memory, 4096));
	NEED(cuMemFree(memory));
	NEED(cuMemAlloc(&memory, 1 << 20));
	NEED(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	NEED(cuMemAllocHost(&host, 4096));
	NEED(cuMemAllocAsync(&pooled, 512, blocking));
	NEED(cuCtxDestroy(own));
	NEED(cuCtxSetCurrent(context));
	if (round >= 3)
		NEED(cuMemFreeAsync(pooled, stream));
}

static void *thread_main(void *unused)
{
	CUdeviceptr memory;

	(void)unused;
	NEED(cuCtxSetCurrent(context));
	NEED(cuMemAllocAsync(&memory, 4096, stream));
	launch(stream);
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
	return NULL;
}

static void by_thread(unsigned round)
{
	pthread_t thread;

	(void)round;
	if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
		exit(2);
	pthread_join(thread, NULL);
}

/* A thread that has done its work and stays until it is told to end. */
struct member {
	pthread_t thread;
	pthread_barrier_t worked;
	pthread_mutex_t stays;
};

static void *member_main(void *argument)
{
	struct member *member = argument;

	thread_main(NULL);
	pthread_barrier_wait(&member->worked);
	pthread_mutex_lock(&member->stays);
	pthread_mutex_unlock(&member->stays);
	return NULL;
}

static void member_begin(struct member *member)
{
	pthread_mutex_lock(&member->stays);
	if (pthread_create(&member->thread, NULL, member_main, member) != 0)
		exit(2);
	pthread_barrier_wait(&member->worked);
}

/* Many threads, most of which stay, while a few come and go. */
static void by_thread_in_crowd(unsigned round)
{
	static struct member crowd[CROWD];
	struct member *member = &crowd[draw(CROWD / 16)];

	for (unsigned i = 0; round == 0 && i < CROWD; i++) {
		pthread_barrier_init(&crowd[i].worked, NULL, 2);
		pthread_mutex_init(&crowd[i].stays, NULL);
		member_begin(&crowd[i]);
	}
	pthread_mutex_unlock(&member->stays);
	pthread_join(member->thread, NULL);
	member_begin(member);
}

static void *thread_own_stream(void *unused)
{
	CUdeviceptr memory;

	(void)unused;
	NEED(cuCtxSetCurrent(context));
	NEED(cuMemAllocAsync(&memory, 4096, CU_STREAM_PER_THREAD));
	launch(CU_STREAM_PER_THREAD);
	NEED(cuMemFreeAsync(memory, CU_STREAM_PER_THREAD));
	return NULL;
}

/* Each thread with its default stream. */
static void by_thread_stream(unsigned round)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_own_stream, NULL) != 0)
		exit(2);
	pthread_join(thread, NULL);
	if (round % 64 == 0)
		NEED(cuCtxSynchronize());
}

static void nothing(const struct sim_launch *launched)
{
	(void)launched;
}

/* Code with a kernel of a new name. */
static void by_module(unsigned round)
{
	static sim_kernel_register_fn *kernel_register;
	static const size_t sizes[] = {8, 4, 8};
	CUfunction function;
	CUmodule own;
	char name[64];

	if (kernel_register == NULL)
		*(void **)&kernel_register = sim_find("sim_kernel_register");
	snprintf(name, sizeof(name), "kernel_that_was_compiled_just_now_%u", round);
	kernel_register(name, nothing, 3, sizes);
	NEED(cuModuleLoadData(&own, "simulated"));
	NEED(cuModuleGetFunction(&function, own, name));
	launch_of(function, stream);
	NEED(cuStreamSynchronize(stream));
	NEED(cuModuleUnload(own));
}

static void by_graph(unsigned round)
{
	CUgraphExec exec;
	CUgraph graph;

	(void)round;
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (unsigned i = 0; i < 4; i++)
		launch(stream);
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
}

static void by_host(unsigned round)
{
	static void *kept[16];
	void **place = &kept[round % 16];

	if (*place != NULL)
		NEED(cuMemFreeHost(*place));
	NEED(cuMemHostAlloc(place, 1 + draw(1 << 22), draw(2) ? CU_MEMHOSTALLOC_PORTABLE : 0));
	launch(stream);
	if (round % 64 == 0)
		NEED(cuStreamSynchronize(stream));
}

static void by_registered(unsigned round)
{
	static char memory[64 * 4096];
	char *page = memory + (size_t)(round % 32) * 8192;

	NEED(cuMemHostRegister(page, 8192, 0));
	NEED(cuMemcpyHtoDAsync(words, page, 16, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemHostUnregister(page));
}

/* Allocations of any size, of which some hundreds live. */
static void by_size(unsigned round)
{
	static CUdeviceptr kept[512];
	CUdeviceptr *place = &kept[draw(512)];
	CUstream on = streams[draw(4)];

	if (*place != 0)
		NEED(draw(4) != 0 ? cuMemFreeAsync(*place, on) : cuMemFree(*place));
	NEED(draw(2) ? cuMemAllocAsync(place, 1 + draw(1u << (8 + draw(14))), on) : cuMemAlloc(place, 1 + draw(1u << (8 + draw(14)))));
	if (round % 16 == 0)
		launch(on);
	if (round % 256 == 0)
		NEED(cuCtxSynchronize());
}

static void by_pool(unsigned round)
{
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemoryPool pool;
	CUdeviceptr memory;

	(void)round;
	NEED(cuMemPoolCreate(&pool, &properties));
	NEED(cuMemAllocFromPoolAsync(&memory, 4096, pool, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemPoolDestroy(pool));
}

static void by_share(unsigned round)
{
	CUipcMemHandle handle;
	CUdeviceptr memory;

	(void)round;
	NEED(cuMemAlloc(&memory, 2 << 20));
	NEED(cuIpcGetMemHandle(&handle, memory));
	NEED(cuMemFree(memory));
}

/* Loops that each have their own length and grid. */
static void by_loop(unsigned round)
{
	unsigned length = 4 + draw(60), grid = 1 + draw(1000), value = 7;
	uint64_t count = 1;

	for (unsigned again = 0; again < 100; again++)
		for (unsigned i = 0; i < length; i++)
			NEED(cuLaunchKernel(kernel, grid + i, 1, 1, 32, 1, 1, 0, stream, (void *[]){&words, &value, &count}, NULL));
	(void)round;
	NEED(cuStreamSynchronize(stream));
}

static const struct {
	const char *name;
	void (*round)(unsigned round);
} kinds[] = {
	{"stream", by_stream},
	{"blocking_stream", by_blocking_stream},
	{"stream_left", by_stream_left},
	{"many_streams", by_many_streams},
	{"event", by_event},
	{"context", by_context},
	{"thread", by_thread},
	{"thread_in_crowd", by_thread_in_crowd},
	{"thread_stream", by_thread_stream},
	{"module", by_module},
	{"graph", by_graph},
	{"host", by_host},
	{"registered", by_registered},
	{"size", by_size},
	{"pool", by_pool},
	{"share", by_share},
	{"loop", by_loop},
};

/* --- how it went --------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
		exit(2);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void run(void (*one)(unsigned round), unsigned rounds)
{
	uint64_t taken[TENTHS];
	long grown[TENTHS], before;

	one(0);
	before = resident_kib();
	for (unsigned tenth = 0, round = 1; tenth < TENTHS; tenth++) {
		uint64_t start = now_ns();

		for (; round <= (uint64_t)rounds * (tenth + 1) / TENTHS; round++)
			one(round);
		taken[tenth] = (now_ns() - start) * TENTHS / rounds;
		grown[tenth] = resident_kib() - before;
		printf("tenth %u: %llu ns a round, %ld KiB more\n", tenth + 1, (unsigned long long)taken[tenth], grown[tenth]);
	}
	printf("last to first: %.2f times as slow, %ld KiB more, %ld of it in the last half\n",
	       (double)taken[TENTHS - 1] / (double)taken[0], grown[TENTHS - 1] - grown[0], grown[TENTHS - 1] - grown[TENTHS / 2 - 1]);
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_fill"));
	NEED(cuMemAlloc(&words, 4096));
	for (unsigned i = 0; i < STREAMS; i++)
		NEED(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	stream = streams[STREAMS - 1];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, wanted) == 0) {
			run(kinds[i].round, rounds);
			launch(stream);
			NEED(cuCtxSynchronize());
			NEED(cuCtxSynchronize()); /* for nothing, as the shim still has to know */
			return 0;
		}
	fprintf(stderr, "no such kind: %s\n", wanted);
	return 2;
}
