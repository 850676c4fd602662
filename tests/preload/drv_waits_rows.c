/* Waits whose rows of the table `waits` hold more than how long they took, one of each; see tests/preload/test_waits.sh.
 *
 *   behind      a stream that has nothing of its own, but waits for another one that has
 *   copied      a default stream after a copy to the host, for which the host has waited (copied-ptds: that of the thread)
 *   twice V     function V that waits, called when there is something to wait for, and again
 *   timed V     a wait for an event of which the time is asked then, by function V of the driver */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

static CUfunction kernel;

static void launch(CUstream stream)
{
	unsigned steps = 50;

	NEED(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
}

static void behind(CUstream busy, CUstream idle, CUevent event)
{
	NEED(cuStreamSynchronize(idle)); /* both are known from now on */
	launch(busy);
	NEED(cuEventRecord(event, busy));
	NEED(cuStreamWaitEvent(idle, event, 0));
	NEED(cuStreamSynchronize(idle));
}

static void twice(CUstream stream, CUevent event, const char *function)
{
	void *found = dlsym(RTLD_DEFAULT, function);
	CUdeviceptr memory;
	CUcontext context;
	unsigned word;

	NEED(cuCtxGetCurrent(&context));
	NEED(cuMemAlloc_v2(&memory, 4));
	launch(strncmp(function, "cuMemcpy", 8) == 0 ? CU_STREAM_LEGACY : stream);
	NEED(cuEventRecord(event, stream));
	for (int i = 0; i < 2; i++) {
		if (strcmp(function, "cuCtxSynchronize") == 0)
			NEED(((__typeof__(cuCtxSynchronize) *)found)());
		else if (strcmp(function, "cuCtxSynchronize_v2") == 0)
			NEED(((CUresult(*)(CUcontext))found)(context));
		else if (strcmp(function, "cuEventSynchronize") == 0)
			NEED(((__typeof__(cuEventSynchronize) *)found)(event));
		else
			NEED(((__typeof__(cuMemcpyDtoH_v2) *)found)(&word, memory, 4));
	}
}

static void timed(CUstream stream, CUevent start, CUevent end, const char *function)
{
	__typeof__(cuEventElapsedTime) *elapsed;
	float ms;

	*(void **)&elapsed = dlsym(RTLD_DEFAULT, function);
	NEED(cuEventRecord(start, stream));
	launch(stream);
	NEED(cuEventRecord(end, stream));
	NEED(cuEventSynchronize(end));
	NEED(elapsed(&ms, start, end));
}

static void copied(CUstream stream, const char *function)
{
	__typeof__(cuMemcpyDtoH_v2) *copy;
	CUdeviceptr memory;
	unsigned word;

	*(void **)&copy = dlsym(RTLD_DEFAULT, function);
	NEED(cuMemAlloc_v2(&memory, 4));
	launch(stream);
	NEED(copy(&word, memory, 4));
	NEED(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	CUstream streams[2];
	CUevent events[2];
	CUcontext context;
	CUmodule module;

	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	for (int i = 0; i < 2; i++) {
		NEED(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		NEED(cuEventCreate(&events[i], 0));
		launch(streams[i]);
	}
	for (int i = 0; i < 2; i++)
		NEED(cuStreamSynchronize(streams[i]));
	if (argc == 3 && strcmp(argv[1], "twice") == 0)
		twice(streams[0], events[0], argv[2]);
	else if (argc == 2 && strcmp(argv[1], "copied") == 0)
		copied(CU_STREAM_LEGACY, "cuMemcpyDtoH_v2");
	else if (argc == 2 && strcmp(argv[1], "copied-ptds") == 0)
		copied(CU_STREAM_PER_THREAD, "cuMemcpyDtoH_v2_ptds");
	else if (argc == 2)
		behind(streams[0], streams[1], events[0]);
	else if (argc == 3)
		timed(streams[0], events[0], events[1], argv[2]);
	return 0;
}
