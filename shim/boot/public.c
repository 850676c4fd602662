/* The C API. See shim/gpushim.h. */
#include "shim/gpushim.h"

#include <string.h>

#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/core/mode.h"
#include "shim/core/thread.h"
#include "shim/snap/snapshot.h"
#include "shim/watch/live.h"
#include "shim/watch/step.h"

GS_EXPORT const char *gpushim_version(void)
{
	return GPUSHIM_VERSION;
}

GS_EXPORT int gpushim_stats(int ordinal, struct gpushim_stats *stats, size_t size_bytes)
{
	struct gs_device *device = gs_device_used(ordinal);
	struct gpushim_stats figures;
	struct gsa_stats now;

	if (stats == NULL || size_bytes == 0)
		return GS_E_INVALID;
	if (device == NULL)
		return GS_E_NOT_FOUND;
	gsa_stats_read(device->allocator, &now);
	figures = (struct gpushim_stats){
		.allocated_bytes = now.allocated_bytes.now,
		.allocated_peak_bytes = now.allocated_bytes.peak,
		.reserved_bytes = now.reserved_bytes.now,
		.reserved_peak_bytes = now.reserved_bytes.peak,
		.pending_bytes = now.pending_bytes.now,
		.idle_bytes = now.idle_bytes.now,
		.allocations = now.allocs,
		.frees = now.frees,
		.hits = now.hits,
		.grows = now.grows,
	};
	memcpy(stats, &figures, size_bytes < sizeof(figures) ? size_bytes : sizeof(figures));
	return GS_OK;
}

GS_EXPORT int gpushim_reset_peak(int ordinal)
{
	struct gs_device *device = gs_device_used(ordinal);

	if (device == NULL)
		return GS_E_NOT_FOUND;
	gsa_stats_reset_peak(device->allocator);
	gs_live_reset_peak((uint8_t)ordinal);
	return GS_OK;
}

GS_EXPORT uint64_t gpushim_trim(int ordinal, uint64_t keep_bytes)
{
	struct gs_device *device = gs_device_used(ordinal);
	uint64_t given_back = 0;

	if (device != NULL && gs_mode() == GS_MODE_ACTIVE && gs_thread.inside == 0) {
		gs_thread.inside = 1;
		given_back = gsa_trim(device->allocator, keep_bytes);
		if (keep_bytes == 0)
			gs_host_trim(false);
		gs_thread.inside = 0;
	}
	return given_back;
}

GS_EXPORT int gpushim_snapshot(char *path, size_t path_bytes)
{
	if (path != NULL && path_bytes == 0)
		return GS_E_INVALID;
	if (gs_mode() != GS_MODE_ACTIVE)
		return GS_E_NOT_FOUND;
	return gs_snapshot_write(GS_SNAPSHOT_AT_REQUEST, path, path_bytes);
}

GS_EXPORT int gpushim_step(void)
{
	if (gs_mode() != GS_MODE_ACTIVE || !gs_call_timed)
		return GS_E_NOT_FOUND;
	if (gs_thread.inside != 0)
		return GS_OK;
	gs_thread.inside = 1;
	gs_step_mark(__builtin_return_address(0));
	gs_thread.inside = 0;
	return GS_OK;
}

/* Makes the device current for a call of the program's; false: it has no context yet. Its context may be one that we
 * have not seen made: the library may have been loaded late. */
static bool device_enter(int ordinal, bool *ret_pushed)
{
	CUcontext primary;
	CUdevice current;
	unsigned int flags;
	int active = 0;
	bool entered;

	*ret_pushed = false;
	if (!gs_call_ready())
		return false;
	if (gs_driver.cuCtxGetDevice(&current) == CUDA_SUCCESS && current == ordinal)
		return true;
	if (gs_driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) != CUDA_SUCCESS || !active ||
	    gs_driver.cuDevicePrimaryCtxRetain(&primary, ordinal) != CUDA_SUCCESS)
		return false;
	entered = gs_context_enter(primary, ret_pushed);
	gs_driver.cuDevicePrimaryCtxRelease_v2(ordinal);
	return entered;
}

GS_EXPORT void *gpushim_torch_malloc(ptrdiff_t size_bytes, int ordinal, void *stream)
{
	PFN_cuMemAllocAsync_v11020 alloc = (PFN_cuMemAllocAsync_v11020)gs_fn_info[GS_FN_cuMemAllocAsync].entry;
	CUdeviceptr address = 0;
	bool pushed;

	if (size_bytes <= 0 || !device_enter(ordinal, &pushed))
		return NULL;
	if (alloc(&address, (size_t)size_bytes, stream) != CUDA_SUCCESS)
		address = 0;
	gs_context_leave(pushed);
	return (void *)(uintptr_t)address;
}

GS_EXPORT void gpushim_torch_free(void *memory, ptrdiff_t size_bytes, int ordinal, void *stream)
{
	PFN_cuMemFreeAsync_v11020 give = (PFN_cuMemFreeAsync_v11020)gs_fn_info[GS_FN_cuMemFreeAsync].entry;
	bool pushed;

	(void)size_bytes;
	if (memory == NULL || !device_enter(ordinal, &pushed))
		return;
	give((CUdeviceptr)(uintptr_t)memory, stream);
	gs_context_leave(pushed);
}
