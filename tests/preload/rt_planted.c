/* Planted faults, that runs under a sanitizer have to report: memory is read after free (argument asan), a shift is
 * too far (ubsan). */
#include <cuda_runtime_api.h>

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

static int shift_too_far(void *device)
{
	volatile int bits = 40;

	return (int)cudaFree(device) + (1 << bits);
}

int main(int argc, char **argv)
{
	void *device;

	if (argc != 2 || cudaMalloc(&device, 4096) != cudaSuccess)
		return 2;
	printf("not reported: %d\n", strcmp(argv[1], "asan") == 0 ? read_after_free(device) : shift_too_far(device));
	return 0;
}
