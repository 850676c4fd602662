/* See device_ops.h. */
#include "shim/core/device_ops.h"

#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/core/clock.h"
#include "shim/core/conf.h"
#include "shim/core/fences.h"
#include "shim/core/order.h"
#include "shim/core/thread.h"
#include "shim/submit/submit.h"
#include "shim/watch/ring.h"

/* --- Virtual memory. The calls are made in relaxed capture mode: they touch no stream, but a global capture of
 * another thread would otherwise be broken by them (H9). */

CUmemAllocationProp gs_device_properties(CUdevice device)
{
	CUmemAllocationProp properties = {
	    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
	    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
	int rdma = 0;

	if (gs_driver.cuDeviceGetAttribute(&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
					   device) == CUDA_SUCCESS &&
	    rdma != 0)
		properties.allocFlags.gpuDirectRDMACapable = 1;
	return properties;
}

static int op_reserve(void *user, uint64_t size_bytes, uint64_t *ret_address)
{
	const struct gs_device *device = user;
	CUdeviceptr address = 0;
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	int error = gs_driver_error(gs_driver.cuMemAddressReserve(&address, size_bytes, device->granularity_bytes, 0, 0));

	gs_order_relaxed_end(saved);
	if (error == GS_OK)
		*ret_address = address;
	return error;
}

static void op_unreserve(void *user, uint64_t address, uint64_t size_bytes)
{
	struct gs_order_relaxed saved = gs_order_relaxed_begin();

	(void)user;
	gs_driver.cuMemAddressFree(address, size_bytes);
	gs_order_relaxed_end(saved);
}

static int op_create(void *user, uint64_t size_bytes, uint64_t *ret_handle)
{
	const struct gs_device *device = user;
	CUmemAllocationProp properties = gs_device_properties(device->device);
	CUmemGenericAllocationHandle handle = 0;
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	int error = gs_driver_error(gs_driver.cuMemCreate(&handle, size_bytes, &properties, 0));

	gs_order_relaxed_end(saved);
	if (error == GS_OK)
		*ret_handle = handle;
	return error;
}

static int op_map(void *user, uint64_t address, uint64_t size_bytes, uint64_t handle)
{
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	int error = gs_driver_error(gs_driver.cuMemMap(address, size_bytes, 0, handle, 0));

	(void)user;
	gs_thread.memory_work++;
	gs_order_relaxed_end(saved);
	return error;
}

static int op_set_access(void *user, uint64_t address, uint64_t size_bytes)
{
	const struct gs_device *device = user;
	uint64_t peers = atomic_load(&device->peers);
	CUmemAccessDesc access[1 + GS_DEVICE_LIMIT];
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	size_t count = 0;
	int error;

	for (CUdevice ordinal = 0; ordinal < GS_DEVICE_LIMIT; ordinal++) {
		if (ordinal != device->device && (peers >> ordinal & 1) == 0)
			continue;
		access[count++] = (CUmemAccessDesc){
		    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
		    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
		};
	}
	error = gs_driver_error(gs_driver.cuMemSetAccess(address, size_bytes, access, count));
	gs_order_relaxed_end(saved);
	return error;
}

static int op_unmap(void *user, uint64_t address, uint64_t size_bytes)
{
	struct gs_order_relaxed saved;
	int error;

	gs_submit_flush();
	saved = gs_order_relaxed_begin();
	error = gs_driver_error(gs_driver.cuMemUnmap(address, size_bytes));

	(void)user;
	gs_thread.memory_work++;
	gs_order_relaxed_end(saved);
	return error;
}

static void op_release(void *user, uint64_t handle)
{
	struct gs_order_relaxed saved;

	(void)user;
	gs_submit_flush();
	saved = gs_order_relaxed_begin();
	gs_driver.cuMemRelease(handle);
	gs_order_relaxed_end(saved);
}

/* Asked of the device that is current. */
static uint64_t op_free_bytes(void *user)
{
	const struct gs_device *device = user;
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	size_t free_bytes, total_bytes;
	CUdevice current;
	bool known = gs_driver.cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device->device &&
		     gs_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS;

	gs_order_relaxed_end(saved);
	return known ? free_bytes : UINT64_MAX;
}

/* --- Plain allocations, made as the program's own call would make them: refused while a capture forbids that. Giving
 * one back breaks no capture. */

static int op_plain_alloc(void *user, uint64_t size_bytes, uint64_t *ret_address)
{
	CUdeviceptr address = 0;
	int cancel = gsb_os_cancel_hold();
	int error = gs_driver_error(gs_driver.cuMemAlloc_v2(&address, size_bytes));

	(void)user;
	gs_thread.memory_work++;
	gsb_os_cancel_restore(cancel);
	if (error == GS_OK)
		*ret_address = address;
	return error;
}

bool gs_lacks_context(CUresult result)
{
	return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* The calling thread may have no context, or one that is gone: then in another one of the device. */
static int op_plain_free(void *user, uint64_t address)
{
	const struct gs_device *device = user;
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	struct gs_order_relaxed saved;
	CUresult result;
	unsigned count;
	bool pushed;

	gs_thread.memory_work++;
	gs_submit_flush();
	saved = gs_order_relaxed_begin();
	result = gs_driver.cuMemFree_v2(address);
	count = gs_lacks_context(result) ? gs_context_list(contexts, GS_CONTEXT_LIMIT) : 0;
	for (unsigned i = 0; i < count && gs_lacks_context(result); i++) {
		if (contexts[i].device != device->device || !gs_context_enter(contexts[i].handle, &pushed))
			continue;
		result = gs_driver.cuMemFree_v2(address);
		gs_context_leave(pushed);
	}
	gs_order_relaxed_end(saved);
	return gs_driver_error(result);
}

static uint64_t op_now_ns(void *user)
{
	(void)user;
	return gs_clock_ns();
}

#define LOOK_PAUSE_NS 100000000u /* between two looks at what others hold */

static void op_on_segment(void *user, bool mapped, uint64_t address, uint64_t size_bytes)
{
	struct gs_device *device = user;
	struct gs_event event = {
	    .time_ns = gs_clock_ns(),
	    .address = address,
	    .size_bytes = size_bytes,
	    .stack = mapped ? gs_thread.stack : 0, /* memory is added in the call that needs it */
	    .thread = gs_thread_id(),
	    .type = mapped ? GS_EVENT_SEGMENT_MAP : GS_EVENT_SEGMENT_UNMAP,
	    .device = (uint8_t)device->device,
	};

	gs_ring_add(&event);
	if (event.time_ns - atomic_load(&device->others_time_ns) > LOOK_PAUSE_NS)
		gs_device_look(device);
}

static void op_on_idle(void *user, uint64_t address, uint64_t size_bytes, uint64_t stream_id)
{
	const struct gs_device *device = user;
	struct gs_event event = {
	    .time_ns = gs_clock_ns(),
	    .address = address,
	    .size_bytes = size_bytes,
	    .stream = stream_id,
	    .thread = gs_thread_id(),
	    .type = GS_EVENT_FREE_DONE,
	    .device = (uint8_t)device->device,
	};

	if (gs_conf.history != 0)
		gs_ring_add(&event);
}

static void op_on_trim(void *user, uint64_t size_bytes)
{
	const struct gs_device *device = user;
	struct gs_event event = {
	    .time_ns = gs_clock_ns(),
	    .size_bytes = size_bytes,
	    .thread = gs_thread_id(),
	    .type = GS_EVENT_TRIM,
	    .device = (uint8_t)device->device,
	};

	gs_ring_add(&event);
}

const struct gsa_ops gs_device_ops = {
    .reserve = op_reserve,
    .unreserve = op_unreserve,
    .create = op_create,
    .map = op_map,
    .set_access = op_set_access,
    .unmap = op_unmap,
    .release = op_release,
    .free_bytes = op_free_bytes,
    .plain_alloc = op_plain_alloc,
    .plain_free = op_plain_free,
    .plain_enter = gs_order_memory_enter,
    .plain_leave = gs_order_memory_leave,
    .fence_stream = gs_fence_stream,
    .fence_all = gs_fence_all,
    .fence_poll = gs_fence_poll,
    .fence_wait = gs_fence_wait,
    .fence_drop = gs_fence_drop,
    .now_ns = op_now_ns,
    .on_segment = op_on_segment,
    .on_idle = op_on_idle,
    .on_trim = op_on_trim,
};

uint64_t gs_device_limit(const struct gs_device *device)
{
	uint64_t limit = gs_conf.memory_limit;

	if (gs_conf.per_process_memory_fraction < 1.0) {
		uint64_t share = (uint64_t)((double)device->total_bytes * gs_conf.per_process_memory_fraction);

		if (share == 0)
			share = 1;
		if (limit == 0 || share < limit)
			limit = share;
	}
	return limit;
}

int gs_device_bind(struct gs_device *device)
{
	struct gsa_options options = {
	    .arena_bytes = device->total_bytes * 2 & ~(device->granularity_bytes - 1),
	    .granularity_bytes = device->granularity_bytes != 0 ? device->granularity_bytes : 2u << 20,
	    .limit_bytes = gs_device_limit(device),
	    .use_vmm = device->vmm && gs_conf.backend == GS_BACKEND_VMM,
	    .expandable = gs_conf.expandable_segments,
	    .runs_ahead = gs_conf.free_sync == GS_FREE_SYNC_NEVER,
	    .lanes = (enum gsa_lanes)gs_conf.lanes,
	    .max_split_bytes = gs_conf.max_split_size_mb << 20,
	    .large_segment_bytes = gs_conf.large_segment_size_mb << 20,
	    .collect_bytes = (uint64_t)((double)gs_device_limit(device) * gs_conf.garbage_collection_threshold),
	    .roundup_divisions = (unsigned)gs_conf.roundup_power2_divisions,
	};

	gs_fences_init();
	return gsa_init(&device->allocator, &gs_device_ops, device, &options);
}
