/* A second thread allocates and frees scratch memory in each of its rounds, and each free waits for what the main thread has
 * submitted. With backend:off, so that the driver's own cudaFree does it; served by gpushim it would not wait.
 *
 * settings: backend:off
 * finds: memory-calls in scratch_round */
#include <pthread.h>

#include "tests/labelled/blind/work.h"

static APART void scratch_round(cudaStream_t stream)
{
	void *scratch;

	NEED(cudaMalloc(&scratch, WORDS_BYTES / 4));
	NEED(cudaMemsetAsync(scratch, 0, WORDS_BYTES / 4, stream));
	NEED(cudaFree(scratch));
}

static void *scratch_worker(void *unused)
{
	cudaStream_t stream;

	NEED(cudaSetDevice(0));
	stream = stream_new();
	for (unsigned round = 0; round < STEPS; round++) {
		scratch_round(stream);
		host_works();
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	NEED(pthread_create(&thread, NULL, scratch_worker, NULL));
	for (unsigned step = 0; step < 2 * STEPS; step++) {
		busy(words, stream);
		host_works();
	}
	NEED(pthread_join(thread, NULL));
	NEED(cudaStreamSynchronize(stream));
	return 0;
}
