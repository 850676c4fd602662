/* Rule (H12): memory of cuMemAlloc and cuMemAllocAsync is not mapped memory: no handle of it can be had, it cannot be
 * unmapped, mapped over or given access, and the access there is is none; nor is it host memory. */
#include "tests/conformance/rule_drv.h"

#define GRANULE ((size_t)2 << 20)

static void refused(CUdeviceptr block)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUmemAccessDesc access = {.location = here, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUdeviceptr start = block & ~(CUdeviceptr)(GRANULE - 1);
	CUmemGenericAllocationHandle handle;
	unsigned long long flags = 7;

	WANT(cuMemRetainAllocationHandle(&handle, (void *)block), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemUnmap(start, GRANULE), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemAddressFree(start, GRANULE), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemSetAccess(start, GRANULE, &access, 1), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemGetAccess(&flags, &here, block));
	WANT(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	NEED(cuMemCreate(&handle, GRANULE, &properties, 0));
	WANT(cuMemMap(start, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemRelease(handle));
	WANT(cuMemFreeHost((void *)block), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUdeviceptr plain, pooled;

	rule_start();
	NEED(cuMemAlloc(&plain, 4 * GRANULE));
	NEED(cuMemAllocAsync(&pooled, 4 * GRANULE, NULL));
	refused(plain);
	refused(pooled);
	NEED(cuMemsetD8(plain, 1, 4 * GRANULE));
	NEED(cuMemsetD8Async(pooled, 1, 4 * GRANULE, NULL));
	NEED(cuMemFreeAsync(pooled, NULL));
	NEED(cuMemFree(plain));
	NEED(cuCtxSynchronize());
	return rule_broken;
}
