/* Primary contexts: one per device, made by the first retain, gone with the last release or a reset. */
#include "tests/sim/cuda/sim_ctx.h"

struct sim_ctx *sim_primary_retain(struct sim_device *device)
{
	if (!device->primary)
		device->primary = sim_ctx_new(device, device->primary_flags, true);
	device->primary_refs++;
	return device->primary;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDevicePrimaryCtxRetain);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUcontext)sim_primary_retain(device);
	return CUDA_SUCCESS;
}

static CUresult primary_end(struct sim_device *device)
{
	if (device->primary)
		sim_ctx_destroy(device->primary);
	device->primary = NULL;
	return CUDA_SUCCESS;
}

CUresult sim_primary_release(struct sim_device *device)
{
	if (device->primary_refs == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	return --device->primary_refs == 0 ? primary_end(device) : CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice ordinal)
{
	struct sim_device *device;

	SIM_TRY(sim_device_get(ordinal, &device));
	return sim_primary_release(device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
	SIM_ENTER(cuDevicePrimaryCtxRelease);
	return primary_release(ordinal);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	SIM_ENTER(cuDevicePrimaryCtxRelease_v2);
	return primary_release(ordinal);
}

static CUresult primary_reset(CUdevice ordinal)
{
	struct sim_device *device;

	SIM_TRY(sim_device_get(ordinal, &device));
	device->primary_refs = 0;
	device->primary_flags = 0;
	return primary_end(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal)
{
	SIM_ENTER(cuDevicePrimaryCtxReset);
	return primary_reset(ordinal);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	SIM_ENTER(cuDevicePrimaryCtxReset_v2);
	return primary_reset(ordinal);
}

static CUresult primary_flags(CUdevice ordinal, unsigned flags)
{
	struct sim_device *device;

	SIM_TRY(sim_device_get(ordinal, &device));
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
	SIM_ENTER(cuDevicePrimaryCtxSetFlags);
	return primary_flags(ordinal, flags);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags)
{
	SIM_ENTER(cuDevicePrimaryCtxSetFlags_v2);
	return primary_flags(ordinal, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active)
{
	struct sim_device *device;

	SIM_ENTER(cuDevicePrimaryCtxGetState);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = device->primary ? device->primary->flags : device->primary_flags;
	*active = device->primary != NULL;
	return CUDA_SUCCESS;
}
