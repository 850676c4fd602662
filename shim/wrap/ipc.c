/* Sharing device memory with other processes. Plain memory, foreign handles and stream-ordered memory, which cannot be
 * shared this way, are the driver's. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/base/err.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/ipc/ipc.h"
#include "shim/watch/note.h"

CUresult gs_on_cuIpcGetMemHandle(struct gs_call *call, PFN_cuIpcGetMemHandle_v4010 real, CUipcMemHandle_v1 *pHandle,
				 CUdeviceptr_v2 dptr)
{
	struct gsa_block_info block;
	const struct gs_device *device = pHandle != NULL && dptr != 0 ? gs_device_of(dptr, &block) : NULL;
	CUresult result;

	(void)call;
	if (gs_order_broken() && gs_order_breaks(result = real(pHandle, dptr)))
		return result;
	if (device != NULL && !block.plain && block.origin == GSA_ORIGIN_LEGACY &&
	    gs_ipc_export(device, &block, pHandle) == GS_OK)
		return CUDA_SUCCESS;
	result = real(pHandle, dptr);
	if (result == CUDA_SUCCESS && device != NULL)
		gsa_share(device->allocator, block.address);
	return result;
}

/* INVALID_CONTEXT is what the driver says to the process that made the handle. */
static CUresult open_result(int error)
{
	switch (error) {
	case GS_OK:
		return CUDA_SUCCESS;
	case GS_E_INVALID:
		return CUDA_ERROR_INVALID_CONTEXT;
	case GS_E_NOT_FOUND:
		return CUDA_ERROR_INVALID_HANDLE;
	case GS_E_NO_MEMORY:
	case GS_E_NO_HOST_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_MAP_FAILED;
	}
}

static CUresult ipc_open(const CUipcMemHandle_v1 *handle, unsigned int flags, CUdeviceptr_v2 *ret_address)
{
	CUcontext context = NULL;
	CUdevice device;
	CUresult result;

	if (ret_address == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	result = gs_driver.cuCtxGetCurrent(&context);
	if (result == CUDA_SUCCESS)
		result = context != NULL ? gs_driver.cuCtxGetDevice(&device) : CUDA_ERROR_INVALID_CONTEXT;
	if (result != CUDA_SUCCESS)
		return result;
	return open_result(gs_ipc_open(handle, context, device, ret_address));
}

/* In a broken context it is the driver that says so: it knows no handle of ours. */
static CUresult open_ours_or(struct gs_call *call, PFN_cuIpcOpenMemHandle_v11000 real, CUdeviceptr_v2 *pdptr,
			     CUipcMemHandle_v1 handle, unsigned int flags)
{
	CUresult result;

	if (gs_ipc_is_ours(&handle)) {
		if (gs_order_broken() && gs_order_breaks(result = real(pdptr, handle, flags)))
			return result;
		result = ipc_open(&handle, flags, pdptr);
	} else {
		result = real(pdptr, handle, flags);
	}
	if (result == CUDA_SUCCESS)
		gs_note_ipc_open(call, *pdptr);
	return result;
}

CUresult gs_on_cuIpcOpenMemHandle(struct gs_call *call, PFN_cuIpcOpenMemHandle_v4010 real, CUdeviceptr_v2 *pdptr,
				  CUipcMemHandle_v1 handle, unsigned int Flags)
{
	return open_ours_or(call, real, pdptr, handle, Flags);
}

CUresult gs_on_cuIpcOpenMemHandle_v2(struct gs_call *call, PFN_cuIpcOpenMemHandle_v11000 real, CUdeviceptr_v2 *pdptr,
				     CUipcMemHandle_v1 handle, unsigned int Flags)
{
	return open_ours_or(call, real, pdptr, handle, Flags);
}

CUresult gs_on_cuIpcCloseMemHandle(struct gs_call *call, PFN_cuIpcCloseMemHandle_v4010 real, CUdeviceptr_v2 dptr)
{
	CUresult result;

	(void)call;
	if (gs_order_broken() && gs_order_breaks(result = real(dptr)))
		return result;
	result = gs_ipc_close(dptr) == GS_OK ? CUDA_SUCCESS : real(dptr);
	if (result == CUDA_SUCCESS)
		gs_note_ipc_close(dptr);
	return result;
}
