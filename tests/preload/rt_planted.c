/* A planted fault, that a run under AddressSanitizer has to report: memory is read after free. */
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

static int read_after_free(void *device)
{
	int *volatile host = malloc(sizeof(*host));

	*host = (int)cudaFree(device);
	free(host);
	return *host;
}

int main(void)
{
	void *device;

	if (cudaMalloc(&device, 4096) != cudaSuccess)
		return 2;
	printf("not reported: %d\n", read_after_free(device));
	return 0;
}
