/* A program linked to libcudart.so.13 (rt12_version.c: .12) by versioned symbols: the shim's functions are reached all
 * the same, and lead to that runtime. */
#include <stdio.h>

#include <cuda_runtime_api.h>

int main(void)
{
	int version = 0;
	void *pointer = NULL;
	cudaError_t error = cudaRuntimeGetVersion(&version);

	printf("version %d, error %d\n", version / 1000, error);
	error = cudaMalloc(&pointer, 1u << 20);
	printf("cudaMalloc %d", error);
	printf(", cudaFree %d\n", cudaFree(pointer));
	printf("cudaFree %d", cudaFree((void *)64));
	printf(", last error %d\n", cudaGetLastError());
	return 0;
}
