/* Allocates, uses and frees in a loop that never waits, as a program does that relies on cudaFree to wait. Prints the
 * most memory that was held. */
#include "tests/preload/kernel.h"

#include "shim/gpushim.h"

#define BLOCK_BYTES (48u << 20)
#define ROUNDS 64
#define STEPS 300 /* of the device for each round: far more than a look at a fence lets pass */

int main(void)
{
	int (*read_stats)(int, struct gpushim_stats *, size_t);
	struct gpushim_stats stats = {0};
	cudaStream_t stream;

	*(void **)&read_stats = dlsym(RTLD_DEFAULT, "gpushim_stats");
	stream = stream_new();
	kernels_register();
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t *block;

		NEED(cudaMalloc((void **)&block, BLOCK_BYTES));
		kernel_delay(STEPS, stream);
		kernel_fill(block, (uint32_t)round, 1024, stream);
		NEED(cudaFree(block));
	}
	if (read_stats == NULL || read_stats(0, &stats, sizeof(stats)) != 0)
		return 2;
	printf("held %llu MiB at most, %llu allocations\n", (unsigned long long)stats.reserved_peak_bytes >> 20,
	       (unsigned long long)stats.allocations);
	return 0;
}
