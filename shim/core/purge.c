/* See purge.h. */
#include "shim/core/purge.h"

#include "shim/api/driver.h"
#include "shim/base/hot.h"
#include "shim/base/memory.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/core/mode.h"
#include "shim/core/order.h"

/* Between looks: a quarter of purge_ms, but no more than these many ticks, a tenth to half of a second, and no less than
 * a thousandth. */
#define TICKS_MOST (1ull << 29)
#define TICKS_LEAST (1ull << 20)
#define TICKS_PER_MS_LEAST 1000000ull

/* A device or host with less than this share of its memory free is low on it. Asked only if there is as much as this to
 * give back. */
#define LOW_SHARE 16
#define WORTH_BYTES (16ull << 20)

#define NS_PER_MS 1000000ull
#define NEVER UINT64_MAX

GSB_HOT _Atomic uint64_t gs_purge_due_ticks;

static uint64_t interval_ticks(void)
{
	uint64_t ticks = gs_conf.purge_ms * TICKS_PER_MS_LEAST / 4;

	if (ticks == 0 || ticks > TICKS_MOST)
		return TICKS_MOST;
	return ticks < TICKS_LEAST ? TICKS_LEAST : ticks;
}

static bool device_low(const struct gs_device *device)
{
	CUcontext context = gs_context_primary(device->device);
	size_t free_bytes = 0, total_bytes = 0;
	struct gsa_stats stats;
	CUresult result;
	bool pushed;

	gsa_stats_read(device->allocator, &stats);
	if (stats.idle_bytes.now + stats.pending_bytes.now < WORTH_BYTES)
		return false;
	if (context == NULL && gs_device_current(NULL) == device)
		gs_driver.cuCtxGetCurrent(&context);
	if (context == NULL || !gs_context_enter(context, &pushed))
		return false;
	result = gs_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes);
	gs_context_leave(pushed);
	return result == CUDA_SUCCESS && free_bytes < total_bytes / LOW_SHARE;
}

static bool host_low(struct gsa_pinned *pinned)
{
	struct gsa_pinned_stats stats;
	struct gsb_memory memory;

	gsa_pinned_stats_read(pinned, &stats);
	if (stats.kept_bytes < WORTH_BYTES)
		return false;
	memory = gsb_memory_read();
	return memory.available_bytes < memory.total_bytes / LOW_SHARE;
}

void gs_purge_look(uint64_t ticks)
{
	uint64_t due = atomic_load(&gs_purge_due_ticks);
	uint64_t age_ns = gs_conf.purge_ms != 0 ? gs_conf.purge_ms * NS_PER_MS : NEVER;
	struct gsa_pinned *pinned = gs_host_known();

	if (ticks <= due || gs_mode() != GS_MODE_ACTIVE || gs_order_capturing() || gs_order_broken() ||
	    !atomic_compare_exchange_strong(&gs_purge_due_ticks, &due, ticks + interval_ticks()))
		return;
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL)
			gsa_purge(device->allocator, age_ns, device_low(device));
	}
	if (pinned == NULL)
		return;
	if (host_low(pinned))
		gsa_pinned_trim(pinned, 0, false);
	else if (age_ns != NEVER)
		gsa_pinned_purge(pinned, age_ns);
}
