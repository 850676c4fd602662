/* The driver needs the memory that the program has freed, for something else than a plain allocation (H28). */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>

#define BIG_BYTES (160u << 20)

/* The allocator of the shim keeps the memory. */
static void use_and_free(void)
{
	CUdeviceptr block;

	if (cuMemAlloc_v2(&block, BIG_BYTES) != CUDA_SUCCESS || cuMemFree_v2(block) != CUDA_SUCCESS)
		printf("no memory to begin with\n");
}

int main(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemPoolProps pool_properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUmemoryPool pool;
	CUdeviceptr block;
	CUcontext context;
	CUdevice device;
	size_t pitch;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS)
		return 1;
	use_and_free();
	printf("cuMemCreate %d", cuMemCreate(&handle, BIG_BYTES, &properties, 0));
	printf(", %d\n", cuMemRelease(handle));
	use_and_free();
	printf("cuMemAllocPitch %d", cuMemAllocPitch_v2(&block, &pitch, 4096, BIG_BYTES / 4096, 4));
	printf(", %d\n", cuMemFree_v2(block));
	use_and_free();
	printf("cuMemPoolCreate %d", cuMemPoolCreate(&pool, &pool_properties));
	printf(", cuMemAllocFromPoolAsync %d", cuMemAllocFromPoolAsync(&block, BIG_BYTES, pool, NULL));
	printf(", %d\n", cuMemFreeAsync(block, NULL));
	return 0;
}
