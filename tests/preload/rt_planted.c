/* Planted faults, that a run under a sanitizer has to report: rt_planted heap|overflow */
#include <cuda_runtime_api.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_after_free(void *device)
{
	int *volatile host = malloc(sizeof(*host));

	*host = (int)cudaFree(device);
	free(host);
	return *host;
}

static int add_too_much(void *device)
{
	volatile int most = INT_MAX;

	return most + 1 + (int)cudaFree(device);
}

int main(int argc, char **argv)
{
	void *device;

	if (argc != 2 || cudaMalloc(&device, 4096) != cudaSuccess)
		return 2;
	printf("not reported: %d\n", strcmp(argv[1], "heap") == 0 ? read_after_free(device) : add_too_much(device));
	return 0;
}
