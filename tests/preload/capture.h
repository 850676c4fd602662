/* Captures for programs that use the runtime: begin, end, and what the shim has to do with them. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <pthread.h>

#include "tests/preload/kernel.h"

#include "shim/gpushim.h"

enum { WORDS = 1 << 16 };

static const size_t size_bytes = WORDS * sizeof(uint32_t);

static inline void capture_begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	NEED(cudaStreamBeginCapture(stream, mode));
}

static inline enum cudaStreamCaptureStatus capture_status(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;

	NEED(cudaStreamIsCapturing(stream, &status));
	return status;
}

/* The error of the end: 0 for a good capture. */
static inline int capture_end(cudaStream_t stream)
{
	cudaGraph_t graph = NULL;
	cudaError_t error = cudaStreamEndCapture(stream, &graph);

	if (graph != NULL)
		NEED(cudaGraphDestroy(graph));
	cudaGetLastError();
	return error;
}

/* Calls so far that conflict with captures; the programs here make none while one is open. */
static inline unsigned long conflicting_calls(void)
{
	static const char *const functions[] = {"cuCtxRecordEvent", "cuCtxSynchronize",	  "cuEventRecord",
						"cuEventQuery",	    "cuEventSynchronize", "cuStreamSynchronize",
						"cuStreamQuery",    "cuStreamWaitEvent"};
	sim_calls_fn *calls;
	unsigned long count = 0;

	*(void **)&calls = sim_find("sim_calls");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		count += calls(functions[i]);
	return count;
}

/* Whether the shim serves cudaMalloc now; true without it, where that question does not arise. */
static inline int served(void)
{
	__typeof__(gpushim_stats) *stats;
	struct gpushim_stats before = {0}, after = {0};
	void *memory;

	*(void **)&stats = dlsym(RTLD_DEFAULT, "gpushim_stats");
	if (stats != NULL)
		stats(0, &before, sizeof(before));
	NEED(cudaMalloc(&memory, 4096));
	if (stats != NULL)
		stats(0, &after, sizeof(after));
	NEED(cudaFree(memory));
	return stats == NULL || after.allocations > before.allocations;
}

/* Runs a function in a thread of its own, to its end. */
static inline void in_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	NEED(pthread_create(&thread, NULL, function, argument));
	NEED(pthread_join(thread, NULL));
}

static inline cudaError_t malloc_in_mode(enum cudaStreamCaptureMode mode)
{
	cudaError_t error;
	void *memory;

	NEED(cudaThreadExchangeStreamCaptureMode(&mode));
	error = cudaMalloc(&memory, size_bytes);
	NEED(cudaThreadExchangeStreamCaptureMode(&mode));
	cudaGetLastError();
	return error;
}

#endif
