/* Sharing device memory with other processes. */
#include "shim/api/handler.h"

CUresult gs_on_cuIpcGetMemHandle(struct gs_call *call, PFN_cuIpcGetMemHandle_v4010 real, CUipcMemHandle_v1 *pHandle,
				 CUdeviceptr_v2 dptr)
{
	(void)call;
	return real(pHandle, dptr);
}

CUresult gs_on_cuIpcOpenMemHandle(struct gs_call *call, PFN_cuIpcOpenMemHandle_v4010 real, CUdeviceptr_v2 *pdptr,
				  CUipcMemHandle_v1 handle, unsigned int Flags)
{
	(void)call;
	return real(pdptr, handle, Flags);
}

CUresult gs_on_cuIpcOpenMemHandle_v2(struct gs_call *call, PFN_cuIpcOpenMemHandle_v11000 real, CUdeviceptr_v2 *pdptr,
				     CUipcMemHandle_v1 handle, unsigned int Flags)
{
	(void)call;
	return real(pdptr, handle, Flags);
}

CUresult gs_on_cuIpcCloseMemHandle(struct gs_call *call, PFN_cuIpcCloseMemHandle_v4010 real, CUdeviceptr_v2 dptr)
{
	(void)call;
	return real(dptr);
}
