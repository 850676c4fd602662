/* Contexts: known from birth to death, because memory, streams and events die with them (H6). */
#include <stdatomic.h>

#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/core/moment.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/ipc/ipc.h"
#include "shim/submit/submit.h"
#include "shim/watch/causal.h"
#include "shim/watch/hazard.h"
#include "shim/watch/launch.h"
#include "shim/watch/note.h"
#include "shim/watch/sample.h"

static void context_gone(CUcontext context)
{
	gs_launch_code_gone();
	gs_submit_context_gone();
	gs_sample_context_gone(context);
	gs_proven_context_gone(gs_work_context(context));
	if (gs_hazards)
		gs_causal_all_done(gs_ticks());
	gs_order_context_gone(context);
	gs_ipc_context_gone(context);
	gs_context_gone(context);
	gs_note_context_gone(context);
}

/* The program's holds on each primary context that we have seen. There may be more: the library may have been loaded
 * late. */
static _Atomic unsigned primary_holds[GS_DEVICE_LIMIT];

static bool primary_is_counted(CUdevice device)
{
	return device >= 0 && device < GS_DEVICE_LIMIT;
}

/* In the order of the end of another context that may have had the same handle. */
static CUresult context_made(CUresult result, const CUcontext *context, CUdevice device, bool primary)
{
	if (result == CUDA_SUCCESS) {
		gs_order_await();
		gs_context_add(*context, device, primary, NULL);
	}
	return result;
}

CUresult gs_on_cuDevicePrimaryCtxRetain(struct gs_call *call, PFN_cuDevicePrimaryCtxRetain_v7000 real, CUcontext *pctx,
					CUdevice_v1 dev)
{
	CUresult result = context_made(real(pctx, dev), pctx, dev, true);

	(void)call;
	if (result == CUDA_SUCCESS && primary_is_counted(dev))
		atomic_fetch_add(&primary_holds[dev], 1);
	return result;
}

CUresult gs_on_cuCtxCreate_v2(struct gs_call *call, PFN_cuCtxCreate_v3020 real, CUcontext *pctx, unsigned int flags,
			      CUdevice_v1 dev)
{
	(void)call;
	return context_made(real(pctx, flags, dev), pctx, dev, false);
}

CUresult gs_on_cuCtxCreate_v3(struct gs_call *call, PFN_cuCtxCreate_v11040 real, CUcontext *pctx,
			      CUexecAffinityParam *paramsArray, int numParams, unsigned int flags, CUdevice_v1 dev)
{
	(void)call;
	return context_made(real(pctx, paramsArray, numParams, flags, dev), pctx, dev, false);
}

#if CUDA_VERSION >= 12050
CUresult gs_on_cuCtxCreate_v4(struct gs_call *call, PFN_cuCtxCreate_v12050 real, CUcontext *pctx,
			      CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
	(void)call;
	return context_made(real(pctx, ctxCreateParams, flags, dev), pctx, dev, false);
}
#endif

/* The driver waits for the context's work when that ends. So do we, before others are kept out: what the device waits for may be
 * what they do next. */
static void await_work(CUcontext context)
{
	struct gs_context known;
	CUresult met;

	if (gs_context_find(context, &known))
		gs_context_wait(context, &met);
}

/* A context may end, and its streams with it. Returns what gs_order_let_go wants. */
static int context_ending(CUcontext context)
{
	gs_host_context_ending((uint64_t)(uintptr_t)context);
	gs_stream_ends();
	return gs_order_hold();
}

/* Lets go of what context_ending returned. */
static CUresult context_ended(CUresult result, CUcontext context, bool gone, int hold)
{
	if (gone)
		context_gone(context);
	gs_order_let_go(hold);
	if (gone)
		gs_devices_trim(false);
	return result;
}

static CUresult context_destroy(CUresult (*real)(CUcontext), CUcontext context)
{
	CUresult result;
	int hold;

	await_work(context);
	hold = context_ending(context);
	result = real(context);
	return context_ended(result, context, result == CUDA_SUCCESS, hold);
}

CUresult gs_on_cuCtxDestroy(struct gs_call *call, PFN_cuCtxDestroy_v2000 real, CUcontext ctx)
{
	(void)call;
	return context_destroy(real, ctx);
}

CUresult gs_on_cuCtxDestroy_v2(struct gs_call *call, PFN_cuCtxDestroy_v4000 real, CUcontext ctx)
{
	(void)call;
	return context_destroy(real, ctx);
}

/* An event or a wait of a green context covers its own work alone, and none of another context covers it for sure; memory that was
 * made in it lives on in the primary one (asked of a driver 580). */
CUresult gs_on_cuCtxFromGreenCtx(struct gs_call *call, PFN_cuCtxFromGreenCtx_v12040 real, CUcontext *pContext, CUgreenCtx hCtx)
{
	CUresult result = real(pContext, hCtx);

	(void)call;
	if (result == CUDA_SUCCESS)
		gs_order_capture_lost("the work of a green context");
	return result;
}

/* A green context is also known by an ordinary handle, once the program asked for it as such. */
CUresult gs_on_cuGreenCtxDestroy(struct gs_call *call, PFN_cuGreenCtxDestroy_v12040 real, CUgreenCtx hCtx)
{
	CUcontext context = NULL;
	CUresult result;
	bool known;
	int hold;

	(void)call;
	known = gs_driver.cuCtxFromGreenCtx != NULL && gs_driver.cuCtxFromGreenCtx(&context, hCtx) == CUDA_SUCCESS;
	await_work(context);
	hold = context_ending(context);
	result = real(hCtx);
	return context_ended(result, context, known && result == CUDA_SUCCESS, hold);
}

/* The handle of a device's primary context while it is active; NULL otherwise. */
static CUcontext primary_context(CUdevice device)
{
	unsigned int flags;
	int active = 0;
	CUcontext context = gs_context_primary(device);

	if (context != NULL)
		return context;
	if (gs_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active ||
	    gs_driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
		return NULL;
	gs_driver.cuDevicePrimaryCtxRelease_v2(device);
	return context;
}

static bool primary_active(CUdevice device)
{
	unsigned int flags;
	int active = 1;

	return gs_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active != 0;
}

static CUresult primary_release(CUresult (*real)(CUdevice_v1), CUdevice device)
{
	CUcontext context = primary_context(device);
	unsigned holds = primary_is_counted(device) ? atomic_load(&primary_holds[device]) : 0;
	bool gone;
	int hold;
	CUresult result;

	while (holds > 0 && !atomic_compare_exchange_weak(&primary_holds[device], &holds, holds - 1))
		;
	if (holds == 1)
		await_work(context);
	hold = holds > 1 ? gs_order_hold() : context_ending(context); /* with another hold it goes on */
	result = real(device);
	if (result != CUDA_SUCCESS && holds > 0)
		atomic_fetch_add(&primary_holds[device], 1);
	gone = result == CUDA_SUCCESS && context != NULL && !primary_active(device);
	return context_ended(result, context, gone, hold);
}

/* A reset destroys the context's state whoever still holds it. */
static CUresult primary_reset(CUresult (*real)(CUdevice_v1), CUdevice device)
{
	CUcontext context = primary_context(device);
	CUresult result;
	int hold;

	await_work(context);
	hold = context_ending(context);
	result = real(device);
	return context_ended(result, context, result == CUDA_SUCCESS && context != NULL, hold);
}

CUresult gs_on_cuDevicePrimaryCtxRelease(struct gs_call *call, PFN_cuDevicePrimaryCtxRelease_v7000 real,
					 CUdevice_v1 dev)
{
	(void)call;
	return primary_release(real, dev);
}

CUresult gs_on_cuDevicePrimaryCtxRelease_v2(struct gs_call *call, PFN_cuDevicePrimaryCtxRelease_v11000 real,
					    CUdevice_v1 dev)
{
	(void)call;
	return primary_release(real, dev);
}

CUresult gs_on_cuDevicePrimaryCtxReset(struct gs_call *call, PFN_cuDevicePrimaryCtxReset_v7000 real, CUdevice_v1 dev)
{
	(void)call;
	return primary_reset(real, dev);
}

CUresult gs_on_cuDevicePrimaryCtxReset_v2(struct gs_call *call, PFN_cuDevicePrimaryCtxReset_v11000 real,
					  CUdevice_v1 dev)
{
	(void)call;
	return primary_reset(real, dev);
}

/* before: taken before the wait. With watch:off no call is timed; then this is where memory that nobody wants is looked
 * for. */
static void waited(CUresult result, CUcontext context, uint64_t before)
{
	uint64_t now_ticks = gs_call_timed ? 0 : gs_ticks();

	if (result == CUDA_SUCCESS)
		gs_proven_context(gs_work_context(context), before);
	if (result == CUDA_SUCCESS && gs_hazards)
		gs_causal_all_done(before);
	if (result == CUDA_SUCCESS && gs_purge_is_due(now_ticks))
		gs_purge_look(now_ticks);
}

CUresult gs_on_cuCtxSynchronize(struct gs_call *call, PFN_cuCtxSynchronize_v2000 real)
{
	struct gs_moment moment;
	CUcontext context = NULL;
	CUresult result;
	uint64_t before = gs_call_moment(call);

	gs_driver.cuCtxGetCurrent(&context);
	gs_wait_for_context(call, gs_work_context(context));
	gs_moment_take(&moment);
	result = real();
	if (result == CUDA_SUCCESS && context != NULL)
		gs_moment_passed(&moment, context);
	waited(result, context, before);
	return result;
}

#if CUDA_VERSION >= 13000
CUresult gs_on_cuCtxSynchronize_v2(struct gs_call *call, PFN_cuCtxSynchronize_v13000 real, CUcontext ctx)
{
	struct gs_moment moment;
	CUresult result;
	uint64_t before = gs_call_moment(call);

	gs_wait_for_context(call, gs_work_context(ctx));
	gs_moment_take(&moment);
	result = real(ctx);
	if (result == CUDA_SUCCESS)
		gs_moment_passed(&moment, ctx);
	waited(result, ctx, before);
	return result;
}
#endif
