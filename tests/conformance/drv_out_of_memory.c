/* Rule: more than is free is OUT_OF_MEMORY, from every way to allocate; the error does not stick. */
#include "tests/conformance/rule_drv.h"

#define GRANULARITY ((size_t)2 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr pointer, most;
	size_t free_bytes, total;

	rule_start();
	NEED(cuMemGetInfo(&free_bytes, &total));
	WANT(cuMemAlloc(&pointer, total + GRANULARITY), CUDA_ERROR_OUT_OF_MEMORY);
	WANT(cuMemAlloc(&pointer, (size_t)-1), CUDA_ERROR_OUT_OF_MEMORY);
	NEED(cuMemAlloc(&most, free_bytes / 4 * 3));
	WANT(cuMemAlloc(&pointer, free_bytes / 2), CUDA_ERROR_OUT_OF_MEMORY);
	WANT(cuMemAllocAsync(&pointer, free_bytes / 2, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	WANT(cuMemCreate(&handle, free_bytes / 2 / GRANULARITY * GRANULARITY, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	NEED(cuMemFree(most));
	NEED(cuMemAlloc(&pointer, free_bytes / 2));
	NEED(cuMemFree(pointer));
	return rule_broken;
}
