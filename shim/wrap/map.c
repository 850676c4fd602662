/* Virtual memory calls on memory that we serve. The program has it from cudaMalloc, for which the driver refuses them:
 * nothing is mapped there, no handle can be had. What lies below is ours alone (H12). */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/ipc/ipc.h"

static bool is_ours(CUdeviceptr address)
{
	struct gsa_block_info block;

	return gs_device_reserves(address) || gs_device_holds(address) || gs_ipc_find(address, &block);
}

CUresult gs_on_cuMemMap(struct gs_call *call, PFN_cuMemMap_v10020 real, CUdeviceptr_v2 ptr, size_t size, size_t offset,
			CUmemGenericAllocationHandle_v1 handle, unsigned long long flags)
{
	(void)call;
	return is_ours(ptr) ? CUDA_ERROR_INVALID_VALUE : real(ptr, size, offset, handle, flags);
}

CUresult gs_on_cuMemUnmap(struct gs_call *call, PFN_cuMemUnmap_v10020 real, CUdeviceptr_v2 ptr, size_t size)
{
	(void)call;
	return is_ours(ptr) ? CUDA_ERROR_INVALID_VALUE : real(ptr, size);
}

CUresult gs_on_cuMemAddressFree(struct gs_call *call, PFN_cuMemAddressFree_v10020 real, CUdeviceptr_v2 ptr, size_t size)
{
	(void)call;
	return is_ours(ptr) ? CUDA_ERROR_INVALID_VALUE : real(ptr, size);
}

CUresult gs_on_cuMemSetAccess(struct gs_call *call, PFN_cuMemSetAccess_v10020 real, CUdeviceptr_v2 ptr, size_t size,
			      const CUmemAccessDesc_v1 *desc, size_t count)
{
	(void)call;
	return is_ours(ptr) ? CUDA_ERROR_INVALID_VALUE : real(ptr, size, desc, count);
}

/* Of memory that is not mapped the driver says that nobody has access (580). */
CUresult gs_on_cuMemGetAccess(struct gs_call *call, PFN_cuMemGetAccess_v10020 real, unsigned long long *flags,
			      const CUmemLocation_v1 *location, CUdeviceptr_v2 ptr)
{
	CUresult result = real(flags, location, ptr);

	(void)call;
	if (result == CUDA_SUCCESS && is_ours(ptr))
		*flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return result;
}

CUresult gs_on_cuMemRetainAllocationHandle(struct gs_call *call, PFN_cuMemRetainAllocationHandle_v11000 real,
					   CUmemGenericAllocationHandle_v1 *handle, void *addr)
{
	(void)call;
	return is_ours((CUdeviceptr)(uintptr_t)addr) ? CUDA_ERROR_INVALID_VALUE : real(handle, addr);
}

/* A descriptor keeps the memory beyond the free. */
CUresult gs_on_cuMemGetHandleForAddressRange(struct gs_call *call, PFN_cuMemGetHandleForAddressRange_v11070 real,
					     void *handle, CUdeviceptr dptr, size_t size,
					     CUmemRangeHandleType handleType, unsigned long long flags)
{
	struct gsa_block_info block;
	const struct gs_device *device = gs_device_of(dptr, &block);
	CUresult result;

	(void)call;
	if (device != NULL &&
	    (dptr - block.address >= block.size_bytes || size > block.address + block.size_bytes - dptr))
		return CUDA_ERROR_INVALID_VALUE;
	result = real(handle, dptr, size, handleType, flags);
	if (result == CUDA_SUCCESS && device != NULL)
		gsa_share(device->allocator, dptr);
	return result;
}
