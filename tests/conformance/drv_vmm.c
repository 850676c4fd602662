/* Rule: reserve, create, map, set access; what each refuses; a handle keeps its bytes when it is mapped elsewhere. */
#include "tests/conformance/rule_drv.h"

#define G ((size_t)2 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle first, second;
	unsigned long long flags = 99;
	unsigned value = 0;
	size_t granularity = 0;
	CUdeviceptr base;

	rule_start();
	NEED(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	WANT(granularity, G);
	NEED(cuMemAddressReserve(&base, 8 * G, 0, 0, 0));
	WANT(base % G, 0);
	WANT(cuMemCreate(&first, G + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemCreate(&first, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemCreate(&first, G, &prop, 0));
	NEED(cuMemCreate(&second, 2 * G, &prop, 0));
	WANT(cuMemMap(base, 2 * G, 0, first, 0), CUDA_ERROR_NOT_SUPPORTED);
	WANT(cuMemMap(base + 4096, G, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemMap(base + 8 * G, G, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemMap(base, G, 0, first, 0));
	WANT(cuMemMap(base, G, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemMap(base + G, 2 * G, 0, second, 0));
	NEED(cuMemGetAccess(&flags, &access.location, base));
	WANT(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	WANT(cuMemSetAccess(base, 4 * G, &access, 1), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemSetAccess(base, 3 * G, &access, 1));
	NEED(cuMemGetAccess(&flags, &access.location, base + 2 * G));
	WANT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	NEED(cuMemsetD32(base, 42, 3 * G / 4));
	NEED(cuMemcpyDtoH(&value, base + G - 4, 4));
	WANT(value, 42);
	NEED(cuCtxSynchronize());
	WANT(cuMemFree(base), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemFreeAsync(base, NULL), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemUnmap(base + G, G), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemAddressFree(base, 8 * G), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemUnmap(base, 3 * G));
	NEED(cuMemMap(base + 5 * G, G, 0, first, 0));
	NEED(cuMemSetAccess(base + 5 * G, G, &access, 1));
	value = 0;
	NEED(cuMemcpyDtoH(&value, base + 5 * G, 4));
	WANT(value, 42);
	NEED(cuMemUnmap(base + 5 * G, G));
	WANT(cuMemAddressFree(base, G), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemAddressFree(base, 8 * G));
	NEED(cuMemRelease(first));
	NEED(cuMemRelease(second));
	return rule_broken;
}
