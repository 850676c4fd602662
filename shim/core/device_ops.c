/* See device_ops.h.
 *
 * A fence is a list of events, one per context that it covers. Events are pooled per context, because an event
 * belongs to the context that it was created in; both live until the process ends or the context is gone. A fence whose
 * context has died is done: the context waited for its work. */
#include "shim/core/device_ops.h"

#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/slab.h"
#include "shim/core/clock.h"
#include "shim/core/conf.h"
#include "shim/core/order.h"
#include "shim/core/thread.h"
#include "shim/submit/submit.h"
#include "shim/watch/ring.h"

struct pooled_event {
	CUevent event;
	uint64_t context_id;
	CUcontext context;
	struct pooled_event *next; /* of its fence, or in the pool of free events */
};

struct fence {
	struct pooled_event *events;
};

static struct gsb_lock fence_lock = GSB_LOCK_INIT(LIVE);
static struct fence_pool {
	struct gsb_slab events, fences;
	struct pooled_event *free_events;
} fence_pool; /* see pool */

static struct fence_pool *pool(void)
{
	gsb_debug_assert(gsb_lock_held(&fence_lock));
	return &fence_pool;
}

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

/* --- Fences */

static struct pooled_event *event_take(const struct gs_context *context)
{
	struct pooled_event **link, *event = NULL;

	gsb_lock_acquire(&fence_lock);
	for (link = &pool()->free_events; *link != NULL; link = &(*link)->next)
		if ((*link)->context_id == context->id) {
			event = *link;
			*link = event->next;
			break;
		}
	if (event == NULL && (event = gsb_slab_take(&pool()->events)) != NULL) {
		event->context_id = context->id;
		event->context = context->handle;
	}
	gsb_lock_release(&fence_lock);
	return event;
}

static void event_give(struct pooled_event *event)
{
	gsb_lock_acquire(&fence_lock);
	event->next = pool()->free_events;
	pool()->free_events = event;
	gsb_lock_release(&fence_lock);
}

static bool context_alive(const struct pooled_event *event)
{
	struct gs_context context;

	return gs_context_find(event->context, &context) && context.id == event->context_id;
}

static void fence_give(struct fence *fence)
{
	struct pooled_event *event;

	while ((event = fence->events) != NULL) {
		fence->events = event->next;
		event_give(event);
	}
	gsb_lock_acquire(&fence_lock);
	gsb_slab_give(&pool()->fences, fence);
	gsb_lock_release(&fence_lock);
}

static struct fence *fence_take(void)
{
	struct fence *fence;

	gsb_lock_acquire(&fence_lock);
	fence = gsb_slab_take(&pool()->fences);
	gsb_lock_release(&fence_lock);
	return fence;
}

/* A driver before 12.5 cannot record all work of a context. */
static bool records_contexts(void)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent != NULL;
#else
	return false;
#endif
}

static CUresult record_context(CUcontext handle, CUevent event)
{
#if CUDA_VERSION >= 12050
	return gs_driver.cuCtxRecordEvent(handle, event);
#else
	(void)handle;
	(void)event;
	return CUDA_ERROR_NOT_SUPPORTED;
#endif
}

/* The default streams are covered by the whole context: an event recorded on the legacy one would order the blocking
 * streams against each other, and the per-thread one means another stream in each thread (H16). */
static bool is_default_stream(const struct gsa_stream *stream)
{
	return stream->handle <= (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD;
}

/* Adds one event to the fence: of a stream, or of the whole context when stream is NULL. */
static int fence_add(struct fence *fence, const struct gs_context *context, const struct gsa_stream *stream)
{
	struct pooled_event *event;
	CUresult result = CUDA_SUCCESS;
	bool pushed;

	event = event_take(context);
	if (event == NULL)
		return GS_E_NO_HOST_MEMORY;
	if (!gs_context_enter(context->handle, &pushed)) {
		event_give(event);
		return GS_E_NOT_FOUND;
	}
	if (event->event == NULL)
		result = gs_driver.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING);
	if (result == CUDA_SUCCESS)
		result = stream != NULL ? gs_driver.cuEventRecord(event->event, (CUstream)(uintptr_t)stream->handle)
					: record_context(context->handle, event->event);
	gs_context_leave(pushed);
	if (result != CUDA_SUCCESS) {
		event_give(event);
		return stream != NULL ? GS_E_NOT_FOUND : gs_driver_error(result);
	}
	event->next = fence->events;
	fence->events = event;
	return GS_OK;
}

/* A fence over these contexts, or over one stream of the only one. Entered (gs_order_enter). */
static int fence_record(const struct gs_context *contexts, unsigned count, const struct gsa_stream *stream,
			uint64_t *ret_fence)
{
	struct fence *fence = fence_take();
	int error = GS_OK;

	if (fence == NULL)
		return GS_E_NO_HOST_MEMORY;
	for (unsigned i = 0; i < count && error == GS_OK; i++)
		error = fence_add(fence, &contexts[i], stream);
	if (error != GS_OK) {
		fence_give(fence);
		return error;
	}
	*ret_fence = (uint64_t)(uintptr_t)fence;
	return GS_OK;
}

/* Where contexts cannot be recorded the host waits for them: then a fence of nothing covers them. Nobody is inside
 * meanwhile (gs_order_enter), so captures may begin. */
static int fence_waited(const struct gs_context *contexts, unsigned count, uint64_t *ret_fence)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		if (gs_context_wait(contexts[i].handle, &result) == GS_E_FORBIDDEN)
			return GS_E_FORBIDDEN;
	return result == CUDA_SUCCESS ? fence_record(NULL, 0, NULL, ret_fence) : gs_driver_error(result);
}

/* An event of the whole context that is recorded after a stream's end may not cover what is queued on it. So a stream
 * that ends during a capture, of which it is no part, gets its event all the same: that breaks no capture in a relaxed
 * exchange (H9). One that ends while a context does is recorded on afterwards. */
static int fence_ending(const struct gsa_stream *stream, uint64_t *ret_fence)
{
	struct gs_order_relaxed saved;
	struct gs_context context;
	int error = GS_E_NOT_FOUND;

	if (is_default_stream(stream) || gs_order_stream_captures((CUstream)(uintptr_t)stream->handle))
		return GS_E_FORBIDDEN;
	saved = gs_order_relaxed_begin();
	if (gs_context_find((CUcontext)(uintptr_t)stream->owner, &context))
		error = fence_record(&context, 1, stream, ret_fence);
	gs_order_relaxed_end(saved);
	return error;
}

static int op_fence_stream(void *user, const struct gsa_stream *stream, uint64_t *ret_fence)
{
	bool whole = is_default_stream(stream);
	struct gs_context context;
	int error = GS_E_NOT_FOUND, cancel;

	(void)user;
	gs_submit_flush();
	if (whole && !records_contexts())
		return gs_context_find((CUcontext)(uintptr_t)stream->owner, &context)
			   ? fence_waited(&context, 1, ret_fence)
			   : GS_E_NOT_FOUND;
	while (!gs_order_enter(&cancel)) {
		if (!stream->ending)
			return GS_E_FORBIDDEN;
		if (gs_order_capturing())
			return fence_ending(stream, ret_fence);
		gs_order_await();
	}
	if (gs_context_find((CUcontext)(uintptr_t)stream->owner, &context))
		error = fence_record(&context, 1, whole ? NULL : stream, ret_fence);
	gs_order_leave(cancel);
	return error;
}

static int op_fence_all(void *user, uint64_t *ret_fence)
{
	struct gs_context contexts[GS_CONTEXT_LIMIT];
	int error, cancel;

	(void)user;
	gs_submit_flush();
	if (!records_contexts())
		return fence_waited(contexts, gs_context_list(contexts, GS_CONTEXT_LIMIT), ret_fence);
	if (!gs_order_enter(&cancel))
		return GS_E_FORBIDDEN;
	error = fence_record(contexts, gs_context_list(contexts, GS_CONTEXT_LIMIT), NULL, ret_fence);
	gs_order_leave(cancel);
	return error;
}

/* A context that is gone has waited for its work. */
static int events_poll(const struct fence *fence)
{
	for (const struct pooled_event *event = fence->events; event != NULL; event = event->next) {
		CUresult result = context_alive(event) ? gs_driver.cuEventQuery(event->event) : CUDA_SUCCESS;

		if (result == CUDA_ERROR_NOT_READY)
			return 0;
		if (result != CUDA_SUCCESS)
			return GS_E_DRIVER;
	}
	return 1;
}

static int op_fence_poll(void *user, uint64_t token)
{
	int answer, cancel;

	(void)user;
	if (!gs_order_enter(&cancel))
		return 0;
	answer = events_poll((const struct fence *)(uintptr_t)token);
	gs_order_leave(cancel);
	return answer;
}

static int op_fence_wait(void *user, uint64_t token)
{
	const struct fence *fence = (const struct fence *)(uintptr_t)token;
	struct gs_order_relaxed saved;
	int error = GS_OK;

	(void)user;
	if (gs_order_capturing())
		return GS_E_FORBIDDEN;
	gs_thread.memory_work++;
	saved = gs_order_relaxed_begin();
	for (const struct pooled_event *event = fence->events; event != NULL && error == GS_OK; event = event->next)
		if (context_alive(event))
			error = gs_driver_error(gs_driver.cuEventSynchronize(event->event));
	gs_order_relaxed_end(saved);
	return error;
}

static void op_fence_drop(void *user, uint64_t token)
{
	(void)user;
	fence_give((struct fence *)(uintptr_t)token);
}

void gs_fences_check(const uint64_t *fences, size_t count)
{
	const struct fence_pool *all;
	size_t events = 0;

	gsb_lock_acquire(&fence_lock);
	all = pool();
	for (size_t i = 0; i < count; i++)
		for (const struct pooled_event *event = ((const struct fence *)(uintptr_t)fences[i])->events;
		     event != NULL; event = event->next)
			events++;
	for (const struct pooled_event *event = all->free_events; event != NULL; event = event->next)
		events++;
	gsb_assert(all->fences.total_count - all->fences.free_count == count);
	gsb_assert(all->events.total_count - all->events.free_count == events);
	gsb_lock_release(&fence_lock);
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
    .plain_alloc = op_plain_alloc,
    .plain_free = op_plain_free,
    .plain_enter = gs_order_memory_enter,
    .plain_leave = gs_order_memory_leave,
    .fence_stream = op_fence_stream,
    .fence_all = op_fence_all,
    .fence_poll = op_fence_poll,
    .fence_wait = op_fence_wait,
    .fence_drop = op_fence_drop,
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

	if (fence_pool.events.node_bytes == 0) {
		gsb_slab_init(&fence_pool.events, sizeof(struct pooled_event));
		gsb_slab_init(&fence_pool.fences, sizeof(struct fence));
	}
	return gsa_init(&device->allocator, &gs_device_ops, device, &options);
}
