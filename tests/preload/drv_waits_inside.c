/* A thread frees memory and allocates again while a stream waits for the host; a driver before 12.5 cannot record all work
 * of a context, so there the shim may wait for it. Another thread begins and ends a capture meanwhile, and only then lets
 * the stream go on: what waits must not keep it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda.h>

#include "tests/preload/need.h"

enum { BYTES = 4 << 20 };

static CUcontext context;
static _Atomic int stage;

static void *allocate_again(void *argument)
{
	CUdeviceptr memory;

	NEED(cuCtxSetCurrent(context));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	atomic_store(&stage, 1);
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	return argument;
}

int main(void)
{
	struct timespec nap = {0, 100000000};
	volatile unsigned *word;
	CUdeviceptr mapped;
	CUstream held, captured;
	CUgraph graph;
	pthread_t thread;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	NEED(cuMemHostAlloc((void **)&word, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	NEED(cuMemHostGetDevicePointer_v2(&mapped, (void *)word, 0));
	*word = 0;
	NEED(cuStreamWaitValue32_v2(held, mapped, 1, CU_STREAM_WAIT_VALUE_EQ));
	pthread_create(&thread, NULL, allocate_again, NULL);
	while (atomic_load(&stage) == 0)
		nanosleep(&nap, NULL);
	nanosleep(&nap, NULL);
	NEED(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	NEED(cuStreamEndCapture(captured, &graph));
	*word = 1;
	pthread_join(thread, NULL);
	NEED(cuCtxSynchronize());
	printf("captured meanwhile\n");
	return 0;
}
