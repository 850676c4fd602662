/* See moment.h. */
#include "shim/core/moment.h"

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/core/order.h"
#include "shim/core/thread.h"
#include "shim/submit/submit.h"

void gs_moment_take(struct gs_moment *ret_moment)
{
	ret_moment->to_host = gs_order_to_host_mark();
	ret_moment->host = gs_host_mark();
	ret_moment->devices = gs_device_count();
	for (CUdevice ordinal = 0; ordinal < ret_moment->devices; ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		ret_moment->serials[ordinal] = device != NULL ? gsa_free_serial(device->allocator) : 0;
	}
	gs_submit_flush();
}

void gs_moment_passed(const struct gs_moment *moment, CUcontext context)
{
	struct gs_context only[2];

	if (gs_context_list(only, 2) != 1 || only[0].handle != context)
		return;
	gs_order_to_host_settled(moment->to_host);
	gs_host_idle(moment->host);
	for (CUdevice ordinal = 0; ordinal < moment->devices; ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && moment->serials[ordinal] != 0)
			gsa_device_idle(device->allocator, moment->serials[ordinal]);
	}
}

/* While a capture is open a context must not be waited for by name; the driver's own free waits all the same, and breaks none. */
static CUresult wait_by_free(CUcontext context)
{
	struct gs_order_relaxed saved;
	CUdeviceptr memory;
	CUresult result;
	bool pushed;

	if (!gs_context_enter(context, &pushed))
		return CUDA_SUCCESS;
	saved = gs_order_relaxed_begin();
	result = gs_driver.cuMemAlloc_v2(&memory, 1);
	if (result == CUDA_SUCCESS)
		result = gs_driver.cuMemFree_v2(memory);
	gs_order_relaxed_end(saved);
	gs_context_leave(pushed);
	return gs_order_breaks(result) ? result : CUDA_SUCCESS;
}

CUresult gs_moment_await(CUcontext context)
{
	struct gs_moment moment;
	CUresult result;
	int error;

	gs_thread.memory_work++;
	gs_moment_take(&moment);
	error = gs_context_wait(context, &result);
	if (error == GS_E_FORBIDDEN && gs_order_broken())
		return gs_context_error(context);
	if (error == GS_E_FORBIDDEN)
		return wait_by_free(context);
	if (error != GS_OK)
		return CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		gs_moment_passed(&moment, context);
	return result;
}
