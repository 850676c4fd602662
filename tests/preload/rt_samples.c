/* Kernels that take 100 and 1000 steps of the simulated device, long enough to be sampled, on a stream of the program's: `own`, one
 * that does not wait for the default one; `default`, the default one; `both`, the default one, once there is a stream that waits
 * for it; `capture`, a stream that captures all the time;
 * `steps`, with a block of memory and a wait in each step. The second word is how many
 * seconds it runs. */
#include <time.h>

#include "tests/preload/kernel.h"

#define APART __attribute__((noinline, noclone))

static APART void short_one(cudaStream_t stream)
{
	kernel_delay(100, stream);
	__asm__ volatile("# short");
}

static APART void long_one(cudaStream_t stream)
{
	kernel_delay(1000, stream);
	__asm__ volatile("# long");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void capture(cudaStream_t stream)
{
	cudaGraph_t graph;

	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (unsigned i = 0; i < 20; i++)
		short_one(stream);
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphDestroy(graph));
}

static void step(cudaStream_t stream)
{
	void *memory;

	NEED(cudaMalloc(&memory, 3 << 20));
	short_one(stream);
	long_one(stream);
	NEED(cudaDeviceSynchronize());
	NEED(cudaFree(memory));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	cudaStream_t stream = strcmp(how, "own") == 0 || strcmp(how, "capture") == 0 ? stream_new() : NULL, other;
	double end = seconds() + (argc > 2 ? atof(argv[2]) : 1);

	kernels_register();
	if (strcmp(how, "both") == 0)
		NEED(cudaStreamCreate(&other));
	while (seconds() < end) {
		if (strcmp(how, "capture") == 0) {
			capture(stream);
			continue;
		}
		if (strcmp(how, "steps") == 0) {
			step(stream);
			continue;
		}
		for (unsigned i = 0; i < 20; i++) {
			short_one(stream);
			long_one(stream);
		}
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
