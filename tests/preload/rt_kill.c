/* Allocates and frees in several threads until it is killed. Three blocks and one pinned range of known sizes live all the
 * time; "ready" is printed once they are there. An argument: so many milliseconds instead, then the end. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, KEPT = 30 };

static volatile int stop;

static void need(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "error %d\n", (int)error);
	exit(3);
}

static void *work(void *number)
{
	uint64_t random = (uintptr_t)number + 1;
	void *kept[KEPT] = {NULL};

	while (!stop) {
		unsigned slot;

		random = random * 6364136223846793005u + 1442695040888963407u;
		slot = (unsigned)(random >> 33) % KEPT;
		if (kept[slot] != NULL)
			need(cudaFree(kept[slot]));
		kept[slot] = NULL;
		if (random >> 63)
			need(cudaMalloc(&kept[slot], 1 + (random >> 40) % 100000));
	}
	return NULL;
}

int main(int count, char **words)
{
	struct timespec nap = {0, 1000000};
	pthread_t threads[THREADS];
	void *memory;

	need(cudaMalloc(&memory, 1234567));
	need(cudaMalloc(&memory, 2345678));
	need(cudaMallocAsync(&memory, 3456789, 0));
	need(cudaMallocHost(&memory, 456789));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	printf("ready\n");
	fflush(stdout);
	for (long left = count > 1 ? atol(words[1]) : 60000; left > 0; left--)
		nanosleep(&nap, NULL);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
