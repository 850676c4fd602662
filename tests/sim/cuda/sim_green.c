/* Green contexts: a part of a device's multiprocessors. Here each has all of them, and is otherwise a context like any
 * other, known by the same handle; it keeps the primary context active while it lives. */
#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_handle.h"

enum { MULTIPROCESSORS = 132 };

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource *resource, CUdevResourceType type)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetDevResource);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_VALUE;
	*resource = (CUdevResource){.type = type, .sm = {.smCount = MULTIPROCESSORS}};
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *description, CUdevResource *resources, unsigned count)
{
	static char whole;

	SIM_ENTER(cuDevResourceGenerateDesc);
	SIM_TRY(sim_ready());
	if (!description || !resources || count != 1)
		return CUDA_ERROR_INVALID_VALUE;
	*description = (CUdevResourceDesc)&whole;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *handle, CUdevResourceDesc description, CUdevice ordinal, unsigned flags)
{
	struct sim_device *device;
	struct sim_ctx *ctx;

	SIM_ENTER(cuGreenCtxCreate);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!handle || !description || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	sim_primary_retain(device);
	ctx = sim_ctx_new(device, 0, false);
	ctx->green = true;
	*handle = (CUgreenCtx)ctx;
	return CUDA_SUCCESS;
}

static CUresult green_find(CUgreenCtx handle, struct sim_ctx **ret_ctx)
{
	struct sim_ctx *ctx = (struct sim_ctx *)handle;

	SIM_TRY(sim_ready());
	if (!sim_handle_is(ctx, SIM_KIND_CTX) || !ctx->green)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_ctx = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *ret_handle, CUgreenCtx handle)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxFromGreenCtx);
	SIM_TRY(green_find(handle, &ctx));
	*ret_handle = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
	struct sim_device *device;
	struct sim_ctx *ctx;

	SIM_ENTER(cuGreenCtxDestroy);
	SIM_TRY(green_find(handle, &ctx));
	device = ctx->device;
	sim_ctx_destroy(ctx);
	return sim_primary_release(device);
}
