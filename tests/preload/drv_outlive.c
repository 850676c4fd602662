/* What outlives a context: stream-ordered memory is its pool's, cudaMalloc memory dies. Prints what each call answers
 * and what the memory holds. */
#include <stdio.h>

#include <cuda.h>

static unsigned word(CUdeviceptr pointer)
{
	unsigned value = 0;

	return cuMemcpyDtoH(&value, pointer, sizeof(value)) == CUDA_SUCCESS ? value : 0;
}

int main(void)
{
	CUdeviceptr pooled, legacy, other[8];
	CUcontext primary, created;

	if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&primary, 0) != CUDA_SUCCESS ||
	    cuCtxCreate(&created, NULL, 0, 0) != CUDA_SUCCESS)
		return 2;
	printf("alloc %d %d\n", cuMemAllocAsync(&pooled, 1u << 20, NULL), cuMemAlloc(&legacy, 1u << 20));
	printf("set %d", cuMemsetD32(pooled, 4711, 1u << 18));
	printf(", destroy %d\n", cuCtxDestroy(created));
	printf("current %d\n", cuCtxSetCurrent(primary));
	for (unsigned i = 0; i < 8; i++)
		if (cuMemAlloc(&other[i], 1u << 20) != CUDA_SUCCESS || cuMemsetD32(other[i], i, 1u << 18) != CUDA_SUCCESS)
			return 3;
	printf("legacy again %d\n", cuMemFree(legacy) == CUDA_SUCCESS && legacy != other[0]);
	printf("pooled holds %u", word(pooled));
	printf(", free %d", cuMemFreeAsync(pooled, NULL));
	printf(", again %d\n", cuMemFreeAsync(pooled, NULL) != CUDA_SUCCESS);
	return 0;
}
