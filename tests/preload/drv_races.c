/* Threads that do at once what each does seldom: fences on two devices, captures that end or are lost with their
 * context, contexts that come and go, stacks that are new. For a sanitizer: what it prints is only that it went well. drv_races [ROUNDS] */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define NEED_STATUS 1
#include "tests/preload/need.h"

enum { DEVICES = 2, MIB = 1 << 20, STREAMS = 3 };

static CUcontext primary[DEVICES];
static unsigned rounds = 60;

static bool refused(CUresult result)
{
	if (result != CUDA_ERROR_OUT_OF_MEMORY)
		need(result, "allocation");
	return result != CUDA_SUCCESS;
}

/* Memory wanders from stream to stream, and there is little of it: each needs fences of the others. */
static void *wander(void *number)
{
	size_t device = (size_t)number % DEVICES;
	CUstream streams[STREAMS];

	NEED(cuCtxSetCurrent(primary[device]));
	for (unsigned i = 0; i < STREAMS; i++)
		NEED(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds * STREAMS; i++) {
		CUstream stream = streams[i % STREAMS];
		CUdeviceptr memory;

		if (!refused(cuMemAllocAsync(&memory, (6 + i % 5) * MIB, stream))) {
			NEED(cuMemsetD8Async(memory, 1, MIB, stream));
			NEED(cuMemFreeAsync(memory, stream));
		}
		if (i % 4 == 0 && !refused(cuMemAlloc(&memory, 8 * MIB)))
			NEED(cuMemFree(memory));
	}
	for (unsigned i = 0; i < STREAMS; i++)
		NEED(cuStreamDestroy(streams[i]));
	return NULL;
}

static void *capture(void *number)
{
	CUstream stream;

	NEED(cuCtxSetCurrent(primary[(size_t)number % DEVICES]));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds * 4; i++) {
		CUgraph graph;

		NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		NEED(cuStreamEndCapture(stream, &graph));
		NEED(cuGraphDestroy(graph));
	}
	NEED(cuStreamDestroy(stream));
	return NULL;
}

static CUresult create(CUcontext *context, CUdevice device)
{
#if CUDA_VERSION >= 13000
	return cuCtxCreate(context, NULL, 0, device);
#else
	return cuCtxCreate(context, 0, device);
#endif
}

/* A context with memory of its own; every other one goes while a stream of it captures. */
static void *come_and_go(void *number)
{
	for (unsigned i = 0; i < rounds; i++) {
		CUcontext context;
		CUdeviceptr memory;
		CUstream stream;

		NEED(create(&context, (CUdevice)((size_t)number % DEVICES)));
		if (!refused(cuMemAlloc(&memory, MIB)))
			NEED(cuMemFree(memory));
		NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		if (i % 2 == 0)
			NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		NEED(cuCtxDestroy(context));
	}
	return NULL;
}

/* Memory by one of many ways, each another stack. */
static void allocate_by(unsigned way, unsigned levels)
{
	CUdeviceptr memory;

	if (levels == 0) {
		if (!refused(cuMemAlloc(&memory, 1000)))
			NEED(cuMemFree(memory));
	} else if (way % 2 == 0) {
		allocate_by(way / 2, levels - 1);
		__asm__ volatile("# even");
	} else {
		allocate_by(way / 2, levels - 1);
		__asm__ volatile("# odd");
	}
}

static void *stacks(void *number)
{
	NEED(cuCtxSetCurrent(primary[(size_t)number % DEVICES]));
	for (unsigned i = 0; i < rounds * 4; i++)
		allocate_by((unsigned)(size_t)number << 10 | i, 14);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = {wander,	 wander,  wander,      wander,
						capture, capture, come_and_go, come_and_go, stacks,  stacks};
	pthread_t threads[sizeof(work) / sizeof(work[0])];

	setenv("SIM_DEVICES", "2", 1);
	setenv("SIM_MEMORY", "64M", 1);
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	NEED(cuInit(0));
	for (int device = 0; device < DEVICES; device++)
		NEED(cuDevicePrimaryCtxRetain(&primary[device], device));
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		if (pthread_create(&threads[i], NULL, work[i], (void *)i) != 0)
			return 2;
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		pthread_join(threads[i], NULL);
	printf("all went well\n");
	return 0;
}
