/* The default stream of a program built for one per thread (H16): memory that is freed on it serves it again at once,
 * and is not idle because another stream is. argv[1]: "again" or "idle". Prints whether the address comes back. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <stdio.h>
#include <string.h>

#include "tests/preload/kernel.h"

enum { BYTES = 4 << 20 };

int main(int argc, char **argv)
{
	void *memory, *next;
	cudaStream_t other;

	kernels_register();
	NEED(cudaMallocAsync(&memory, BYTES, 0));
	kernel_delay(100000, cudaStreamPerThread);
	NEED(cudaMemsetAsync(memory, 1, BYTES, 0));
	NEED(cudaFreeAsync(memory, 0));
	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		NEED(cudaMallocAsync(&next, BYTES, 0));
	} else {
		NEED(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
		NEED(cudaStreamSynchronize(other));
		NEED(cudaMalloc(&next, BYTES));
	}
	printf("%s\n", next == memory ? "the same" : "another");
	NEED(cudaDeviceSynchronize());
	return 0;
}
