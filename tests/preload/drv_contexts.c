/* More contexts than devices; memory that is freed in one of them, with work pending there, comes back to it, also when
 * others of them are gone. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>

#define CONTEXTS 12
#define ROUNDS 64
#define BLOCK_BYTES (6u << 20)

/* In the current context; how many were served. */
static unsigned rounds(void)
{
	unsigned served = 0;
	CUdeviceptr block;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (cuMemAlloc_v2(&block, BLOCK_BYTES + (i << 17)) != CUDA_SUCCESS ||
		    cuMemsetD8Async(block, 1, BLOCK_BYTES, CU_STREAM_PER_THREAD) != CUDA_SUCCESS)
			break;
		served += cuMemFree_v2(block) == CUDA_SUCCESS;
	}
	return served;
}

int main(void)
{
	CUcontext contexts[CONTEXTS];
	CUdevice device;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS)
		return 1;
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (cuCtxCreate_v2(&contexts[i], 0, device) != CUDA_SUCCESS)
			return 1;
	printf("%u of %u blocks\n", rounds(), ROUNDS);
	for (unsigned i = 0; i < CONTEXTS; i += 2)
		if (cuCtxDestroy_v2(contexts[i]) != CUDA_SUCCESS)
			return 1;
	printf("%u of %u blocks\n", rounds(), ROUNDS);
	for (unsigned i = 1; i < CONTEXTS; i += 2)
		if (cuCtxDestroy_v2(contexts[i]) != CUDA_SUCCESS)
			return 1;
	return 0;
}
