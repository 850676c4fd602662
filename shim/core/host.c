/* See host.h. */
#include "shim/core/host.h"

#include <stdatomic.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/memory.h"
#include "shim/core/conf.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/core/device_ops.h"
#include "shim/core/order.h"
#include "shim/submit/submit.h"

/* Of the memory of the machine or container, unless pinned_limit says otherwise (H8). */
#define LIMIT_SHARE 8

static struct gsa_pinned *_Atomic cache;

/* The calling thread may have no context, or one that is gone: then in any other. */
static int op_free(void *user, uint64_t address)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	struct gs_order_relaxed saved;
	CUresult result;
	unsigned count;
	bool pushed;

	(void)user;
	gs_submit_flush();
	saved = gs_order_relaxed_begin();
	result = gs_driver.cuMemFreeHost((void *)(uintptr_t)address);
	count = gs_lacks_context(result) ? gs_context_list(contexts, GS_CONTEXT_LIMIT) : 0;
	for (unsigned i = 0; i < count && gs_lacks_context(result); i++) {
		if (!gs_context_enter(contexts[i].handle, &pushed))
			continue;
		result = gs_driver.cuMemFreeHost((void *)(uintptr_t)address);
		gs_context_leave(pushed);
	}
	gs_order_relaxed_end(saved);
	return result == CUDA_SUCCESS ? GS_OK : GS_E_DRIVER;
}

static uint64_t op_work_count(void *user, bool ended)
{
	uint64_t count;

	(void)user;
	return !gs_order_blind() && gs_counter_work(ended, &count) ? count : GSA_WORK_UNKNOWN;
}

static uint64_t limit_bytes(void)
{
	uint64_t total_bytes;

	if (gs_conf.pinned_limit != 0)
		return gs_conf.pinned_limit;
	total_bytes = gsb_memory_read().total_bytes;
	return total_bytes == UINT64_MAX ? 0 : total_bytes / LIMIT_SHARE;
}

struct gsa_pinned *gs_host_known(void)
{
	return atomic_load_explicit(&cache, memory_order_acquire);
}

struct gsa_pinned *gs_host_cache(void)
{
	struct gsa_pinned *known = gs_host_known(), *made;
	struct gsa_ops ops = gs_device_ops;

	if (known != NULL || !gs_conf.pinned_cache)
		return known;
	ops.plain_free = op_free;
	ops.work_count = op_work_count;
	if (gsa_pinned_init(&made, &ops, NULL, limit_bytes()) != GS_OK)
		return NULL;
	if (atomic_compare_exchange_strong(&cache, &known, made))
		return made;
	gsa_pinned_fini(made);
	return known;
}

bool gs_host_keeps(uint64_t address)
{
	struct gsa_pinned *pinned = gs_host_known();

	return pinned != NULL && gsa_pinned_keeps(pinned, address);
}

void *gs_host_asked(void *address)
{
	static char nothing;

	return gs_host_keeps((uint64_t)(uintptr_t)address) ? &nothing : address;
}

bool gs_host_find(uint64_t address, struct gsa_pinned_info *ret_info)
{
	struct gsa_pinned *pinned = gs_host_known();

	return pinned != NULL && gsa_pinned_find(pinned, address, ret_info) == GS_OK;
}

struct gsa_pinned_mark gs_host_mark(void)
{
	struct gsa_pinned *pinned = gs_host_known();

	return pinned != NULL ? gsa_pinned_mark(pinned) : (struct gsa_pinned_mark){0, GSA_WORK_UNKNOWN};
}

void gs_host_idle(struct gsa_pinned_mark mark)
{
	struct gsa_pinned *pinned = gs_host_known();

	if (pinned != NULL)
		gsa_pinned_idle(pinned, mark);
}

uint64_t gs_host_trim(bool wait)
{
	struct gsa_pinned *pinned = gs_host_known();

	return pinned != NULL ? gsa_pinned_trim(pinned, 0, wait) : 0;
}

void gs_host_context_ending(uint64_t owner)
{
	struct gsa_pinned *pinned = gs_host_known();

	if (pinned != NULL)
		gsa_pinned_owner_ending(pinned, owner);
}

void gs_host_context_gone(uint64_t owner)
{
	struct gsa_pinned *pinned = gs_host_known();

	if (pinned != NULL)
		gsa_pinned_owner_gone(pinned, owner);
}
