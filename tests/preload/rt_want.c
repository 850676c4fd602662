/* Asks for MiB of device memory (argv[1]) again and again for argv[2] milliseconds, from when it is refused. */
#include <time.h>

#include "tests/preload/kernel.h"

int main(int argc, char **argv)
{
	size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 64) << 20;
	int tries = (argc > 2 ? atoi(argv[2]) : 1000) / 10, refused = 0;
	void *memory;

	for (int i = 0; i < tries; i++) {
		if (cudaMalloc(&memory, bytes) != cudaSuccess) {
			refused = 1;
		} else if (refused) {
			printf("refused, then served\n");
			return 0;
		} else {
			NEED(cudaFree(memory));
		}
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	printf(refused ? "refused\n" : "never refused\n");
	return 0;
}
