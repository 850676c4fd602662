/* Two threads, each on its own default stream of the per-thread kind, with memory of its own: nothing serialises, nothing is out of
 * order, and each thread waits once, at its end.
 *
 * settings: hazards:on */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include <pthread.h>

#include "tests/labelled/blind/work.h"

static void *worker(void *results)
{
	uint32_t *words;

	NEED(cudaSetDevice(0));
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, 0));
		busy(words, CU_STREAM_PER_THREAD);
		NEED(cudaMemcpyAsync(results, words, WORDS_BYTES, cudaMemcpyDeviceToHost, 0));
		host_works();
	}
	NEED(cudaStreamSynchronize(0));
	NEED(cudaFree(words));
	return results;
}

int main(void)
{
	pthread_t threads[2];
	uint32_t *results[2];

	work_start();
	for (unsigned i = 0; i < 2; i++) {
		NEED(cudaMallocHost((void **)&results[i], WORDS_BYTES));
		NEED(pthread_create(&threads[i], NULL, worker, results[i]));
	}
	for (unsigned i = 0; i < 2; i++)
		NEED(pthread_join(threads[i], NULL));
	return results[0][WORDS - 1] != 2 || results[1][0] != 2;
}
