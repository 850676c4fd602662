/* Rule: cudaDeviceReset ends the device's state for every thread, and the next call starts afresh. */
#include <pthread.h>

#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

static pthread_barrier_t barrier;

static void *other_thread(void *unused)
{
	void *pointer;

	NEED(cudaMalloc(&pointer, 64));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	NEED(cudaMalloc(&pointer, 64));
	NEED(cudaFree(pointer));
	return unused;
}

int main(void)
{
	size_t before, after, total;
	pthread_t thread;
	void *pointer;

	pthread_barrier_init(&barrier, NULL, 2);
	NEED(cudaMemGetInfo(&before, &total));
	NEED(cudaMalloc(&pointer, 32 << 20));
	NEED(pthread_create(&thread, NULL, other_thread, NULL));
	pthread_barrier_wait(&barrier);
	NEED(cudaDeviceReset());
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	NEED(cudaMemGetInfo(&after, &total));
	WANT(after, before);
	WANT(cudaFree(pointer), cudaErrorInvalidValue);
	NEED(cudaMalloc(&pointer, 64));
	return rule_broken;
}
