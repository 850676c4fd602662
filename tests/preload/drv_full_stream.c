/* A thread gives streams that are held up more work than fits into them; another one works on a stream of its own, waits for it, and
 * only then lets the device go on. argv[1]: the kind of work, see `kinds`. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#define NEED_STATUS 9
#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { STREAMS = 4, WARM = 300, PIECES = 5000, OTHERS = 640, BYTES = 64 << 10, LARGE_BYTES = 4000, THREADS_MAX = 3 };

static CUcontext context;
static CUstream held[STREAMS], other;
static CUfunction kernel, large_kernel;
static CUdeviceptr memory;
static CUevent event;
static _Atomic int let_go, given;

static void launch(CUstream stream)
{
	unsigned steps = 1;

	NEED(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
}

static void by_kernels(int i)
{
	(void)i;
	launch(held[0]);
}

static void by_memsets(int i)
{
	NEED(cuMemsetD8Async(memory, (unsigned char)i, BYTES / 2, held[0]));
}

static void by_copies(int i)
{
	(void)i;
	NEED(cuMemcpyDtoDAsync(memory, memory + BYTES / 2, BYTES / 2, held[0]));
}

static void by_large(int i)
{
	static unsigned char value[LARGE_BYTES];

	(void)i;
	NEED(cuLaunchKernel(large_kernel, 1, 1, 1, 32, 1, 1, 0, held[0], (void *[]){value}, NULL));
}

static void by_turns(int i)
{
	switch (i % 4) {
	case 0:
		launch(held[0]);
		break;
	case 1:
		by_memsets(i);
		break;
	case 2:
		NEED(cuEventRecord(event, held[0]));
		break;
	default:
		NEED(cuStreamWaitEvent(held[0], event, 0));
	}
}

static void by_streams(int i)
{
	launch(held[i % STREAMS]);
}

static const struct kind {
	const char *name;
	void (*give)(int i);
	int threads;
} kinds[] = {
    {"kernels", by_kernels, 1}, {"memsets", by_memsets, 1}, {"copies", by_copies, 1},	{"large", by_large, 1},
    {"turns", by_turns, 1},	{"streams", by_streams, 1}, {"threads", by_kernels, THREADS_MAX},
};
static const struct kind *kind;

static void hold(void *user)
{
	(void)user;
	while (!atomic_load(&let_go))
		usleep(100);
}

static void *fill(void *unused)
{
	(void)unused;
	NEED(cuCtxSetCurrent(context));
	for (int i = 0; i < PIECES / kind->threads; i++) {
		kind->give(i);
		atomic_fetch_add(&given, 1);
	}
	return NULL;
}

/* Returns when the others wait, or have given all. */
static void await_full(void)
{
	int before;

	do {
		before = atomic_load(&given);
		usleep(100000);
	} while (atomic_load(&given) != before);
}

static void nothing(const struct sim_launch *launched)
{
	(void)launched;
}

static void start(void)
{
	CUmodule module;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	((sim_kernel_register_fn *)sim_find("sim_kernel_register"))("large", nothing, 1, (size_t[]){LARGE_BYTES});
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	NEED(cuModuleGetFunction(&large_kernel, module, "large"));
	for (int i = 0; i < STREAMS; i++)
		NEED(cuStreamCreate(&held[i], CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&memory, BYTES));
}

int main(int count, char **words)
{
	pthread_t threads[THREADS_MAX];

	for (size_t i = 0; count == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(words[1], kinds[i].name) == 0)
			kind = &kinds[i];
	if (kind == NULL)
		return 2;
	alarm(20); /* it would hang for ever */
	start();
	for (int i = 0; i < WARM; i++) {
		kind->give(i);
		launch(other);
	}
	NEED(cuCtxSynchronize());
	NEED(cuLaunchHostFunc(held[0], hold, NULL));
	NEED(cuEventRecord(event, held[0]));
	for (int i = 1; i < STREAMS; i++)
		NEED(cuStreamWaitEvent(held[i], event, 0));
	for (int i = 0; i < kind->threads; i++)
		pthread_create(&threads[i], NULL, fill, NULL);
	await_full();
	for (int i = 0; i < OTHERS; i++) {
		launch(other);
		if (i % 16 == 15)
			NEED(cuStreamSynchronize(other));
	}
	atomic_store(&let_go, 1);
	for (int i = 0; i < kind->threads; i++)
		pthread_join(threads[i], NULL);
	NEED(cuCtxSynchronize());
	printf("%d pieces given\n", atomic_load(&given));
	return 0;
}
