/* Rule: copies and memsets want access to mapped memory for the device that is current, whatever other devices have; a
 * copy between two contexts wants none across. */
#include "tests/conformance/rule_drv.h"

#define BYTES 4096u

static CUdeviceptr map(CUdevice device)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	size_t size;

	NEED(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	NEED(cuMemAddressReserve(&address, size, 0, 0, 0));
	NEED(cuMemCreate(&handle, size, &prop, 0));
	NEED(cuMemMap(address, size, 0, handle, 0));
	NEED(cuMemSetAccess(address, size, &access, 1));
	return address;
}

int main(void)
{
	CUcontext first = rule_start(), second;
	CUdeviceptr here, there;
	unsigned char value = 0;
	int devices = 0;

	NEED(cuDeviceGetCount(&devices));
	if (devices < 2) {
		printf("needs two devices\n");
		return 77;
	}
	NEED(cuDevicePrimaryCtxRetain(&second, 1));
	NEED(cuCtxSetCurrent(second));
	there = map(1);
	NEED(cuMemsetD8(there, 5, BYTES));
	NEED(cuCtxSynchronize());
	NEED(cuCtxSetCurrent(first));
	here = map(0);
	WANT(cuMemcpyDtoH(&value, there, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpyHtoD(there, &value, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpy((CUdeviceptr)(uintptr_t)&value, there, 1), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemsetD8(there, 6, BYTES), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemcpyPeer(here, first, there, second, BYTES));
	NEED(cuMemcpyDtoH(&value, here, 1));
	WANT(value, 5);
	return rule_broken;
}
