/* Allocates 10 MiB up to 20 times and says how often that went well. */
#include <stdio.h>

#include <cuda_runtime_api.h>

int main(void)
{
	unsigned count = 0;
	void *pointer;

	while (count < 20 && cudaMalloc(&pointer, 10u << 20) == cudaSuccess)
		count++;
	printf("%u\n", count);
	return 0;
}
