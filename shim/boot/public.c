/* The C API. See shim/gpushim.h. */
#include "shim/gpushim.h"

#include <string.h>

#include "shim/api/cuda.h"
#include "shim/base/err.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/core/mode.h"
#include "shim/core/thread.h"
#include "shim/snap/snapshot.h"

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
