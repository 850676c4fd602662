/* See shim/api/quick.h. What is done here is what memory.c does for the same call below the runtime, of which only the
 * cases are taken that need no driver and cannot fail. The driver's function counts as called, too.
 *
 * What a call needs to know (the device, the stream, that nothing forbids it) is found out once and kept for the thread
 * as a *route*, by the stream that the program named. A route holds as long as the epoch does (shim/core/epoch.h), for the object
 * that called last; which context is current the driver is asked each time. An allocation's request is part of it, all but the
 * size: with lean settings, where nobody is told of the call, nothing else is made. */
#include "shim/api/quick.h"

#include <stdatomic.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/os.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/torch/torch.h"
#include "shim/watch/hazard.h"
#include "shim/watch/note.h"
#include "shim/wrap/memory.h"

#define ROUTES 8u
#define NO_STREAM ((CUstream)0x3) /* beside CU_STREAM_LEGACY and CU_STREAM_PER_THREAD */

struct gs_route {
	CUstream handle; /* as the program names it, NULL too; NO_STREAM: for cudaMalloc and cudaFree */
	uint64_t epoch;
	uintptr_t caller, caller_bytes; /* the object that calls, through `real` */
	CUcontext current;
	struct gsa *allocator;
	uint32_t kinds; /* that may be answered, by enum gs_quick_kind */
	bool noted;	/* somebody is told of the call, or it is timed */
	bool takes_part; /* the stream: gs_stream_takes_part */
	struct gsa_request request; /* of an allocation; its size is that of the last one */

	struct gsa_stream stream;
	const struct gs_runtime *real;
	struct gs_context context;
	struct gs_device *device;
};

static _Atomic bool stopped;

/* The device of the thread: what a runtime said last, and in which context. */
static _Thread_local struct {
	const struct gs_runtime *real;
	CUcontext context;
	uint64_t epoch;
	int ordinal;
} told __attribute__((tls_model("initial-exec")));

void gs_quick_stop(void)
{
	atomic_store(&stopped, true);
	gs_epoch_end();
}

/* The thread knows nothing any more. */
static void forget(void)
{
	gs_thread.quick_kinds = 0;
	if (gs_thread.routes != NULL)
		memset(gs_thread.routes, 0, ROUTES * sizeof(*gs_thread.routes));
}

/* Of the thread; NULL where there is no memory for them. They lie in what its counters leave to the next thread. */
static struct gs_route *routes_own(void)
{
	struct gs_counter_block *block = gs_counter_block_own();

	if (gs_thread.routes != NULL || gs_thread.counters == NULL)
		return gs_thread.routes;
	if (block->routes == NULL)
		block->routes = gsb_os_pages_map(ROUTES * sizeof(*block->routes));
	else
		memset(block->routes, 0, ROUTES * sizeof(*block->routes));
	return gs_thread.routes = block->routes;
}

static inline unsigned place_of(CUstream handle)
{
	return ((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % ROUTES;
}

void gs_quick_left(const struct gs_runtime *real, enum gs_quick_kind kind, cudaError_t result)
{
	uintptr_t from = (uintptr_t)gs_thread.served_from;
	struct gs_context context;

	if (from < real->start || from >= real->end || result != cudaSuccess || gs_mode() != GS_MODE_ACTIVE ||
	    !gs_context_current(&context))
		return;
	if (gs_hazards || gs_thread.quick_runtime != real || gs_thread.quick_context != context.id)
		forget();
	gs_thread.quick_runtime = real;
	gs_thread.quick_context = context.id;
	gs_thread.quick_kinds |= 1u << kind;
}

/* The thread's device, if the runtime would only pass the call on to us. (Looking for the runtime may have shown that what the
 * thread knew is no more.) */
static struct gs_device *device_learn(const struct gs_runtime *real, struct gs_context *ret_context)
{
	struct gs_device *device;

	if (gs_thread.quick_runtime != real || gs_thread.quick_kinds == 0 ||
	    gs_mode() != GS_MODE_ACTIVE || atomic_load(&stopped) || gs_order_capturing() || gs_order_broken())
		return NULL;
	device = gs_device_current(ret_context);
	if (device != NULL && ret_context->id == gs_thread.quick_context)
		return device;
	forget();
	return NULL;
}

/* Whether calls of this kind may be answered on the route, whose stream is found out. */
static bool kind_learn(struct gs_route *route, enum gs_quick_kind kind)
{
	CUstream handle = route->handle != NULL ? route->handle : CU_STREAM_LEGACY;

	switch (kind) {
	case GS_QUICK_cudaMalloc:
		return !gs_memory_needs_plain(false);
	case GS_QUICK_cudaFree:
		return true;
	case GS_QUICK_cudaMallocAsync:
	case GS_QUICK_cudaMallocAsync_ptsz:
		return route->device->pools && atomic_load(&route->device->default_is_current) &&
		       gs_stream_resolve_in(&route->context, handle, false, &route->stream) &&
		       route->stream.owner == (uint64_t)(uintptr_t)route->context.handle;
	case GS_QUICK_cudaFreeAsync:
	case GS_QUICK_cudaFreeAsync_ptsz:
		return gs_stream_resolve_in(&route->context, handle, false, &route->stream);
	}
	return false;
}

static bool is_noted(void)
{
	return gs_call_timed || gs_conf.history != 0 || (gs_conf.snapshot & GS_SNAPSHOT_PEAK) != 0 ||
	       gs_conf.stacks != GS_STACK_OFF;
}

static struct gsa_request request_of(const struct gs_route *route)
{
	if (route->handle == NO_STREAM)
		return (struct gsa_request){
			.origin = GSA_ORIGIN_LEGACY,
			.owner = (uint64_t)(uintptr_t)route->context.handle,
			.thread = gs_thread_id(),
			.time_ns = GSA_TIME_NONE,
		};
	return (struct gsa_request){
		.origin = GSA_ORIGIN_ASYNC,
		.owner = route->stream.owner,
		.pool = (uint64_t)(uintptr_t)route->device->default_pool,
		.lasting = !route->context.primary,
		.thread = gs_thread_id(),
		.time_ns = GSA_TIME_NONE,
	};
}

static bool route_learn(struct gs_route *route, const struct gs_runtime *real, enum gs_quick_kind kind, CUstream handle)
{
	struct gs_route learned = {.real = real, .handle = handle, .epoch = gs_epoch(), .noted = is_noted()};

	learned.device = device_learn(real, &learned.context);
	if (learned.device == NULL || !kind_learn(&learned, kind))
		return false;
	learned.allocator = learned.device->allocator;
	learned.current = learned.context.handle;
	learned.request = request_of(&learned);
	learned.kinds = 1u << kind;
	learned.takes_part = handle != NO_STREAM && gs_stream_takes_part(&learned.stream);
	/* Of this epoch it is of this runtime and context, too: others are forgotten. */
	if (route->handle == handle && route->epoch == learned.epoch)
		learned.kinds |= route->kinds;
	*route = learned;
	route->request.stream = handle != NO_STREAM ? &route->stream : NULL;
	return true;
}

/* Whatever else holds, it is for the thread's current context. */
static inline bool is_current(const struct gs_route *route)
{
	CUcontext current = NULL;

	return gs_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == route->current;
}

static inline bool holds(const struct gs_route *route, enum gs_quick_kind kind, CUstream handle)
{
	return route->handle == handle && (route->kinds >> kind & 1) != 0 && route->epoch == gs_epoch();
}

/* The thread is inside. An object that calls by turns with others takes the route over. */
static struct gs_route *route_find(enum gs_quick_kind kind, const void *caller, CUstream handle)
{
	struct gs_route *routes = routes_own(), *route;
	const struct gs_runtime_caller *known = gs_runtime_caller_of(caller);

	if (routes == NULL || known == NULL)
		return NULL;
	route = &routes[place_of(handle)];
	if (!(holds(route, kind, handle) && route->real == known->runtime && is_current(route)) &&
	    !route_learn(route, known->runtime, kind, handle))
		return NULL;
	route->caller = known->start;
	route->caller_bytes = known->end - known->start;
	return route;
}

static __attribute__((noinline)) struct gs_route *begin_anew(enum gs_quick_kind kind, const void *caller, CUstream handle)
{
	struct gs_route *route;

	if (gs_thread.inside != 0 || gs_thread.runtime_fn != 0 || (gs_thread.quick_kinds >> kind & 1) == 0)
		return NULL;
	gs_thread.inside = 1;
	route = route_find(kind, caller, handle);
	if (route == NULL)
		gs_thread.inside = 0;
	return route;
}

/* Begins to answer a call: NULL where it has to enter the runtime. Followed by quick_end. */
static inline __attribute__((always_inline)) struct gs_route *quick_begin(enum gs_quick_kind kind, const void *caller,
								      CUstream handle)
{
	struct gs_route *route = gs_thread.routes;

	if (__builtin_expect((gs_thread.inside | gs_thread.runtime_fn) != 0 || route == NULL, 0))
		return begin_anew(kind, caller, handle);
	route += place_of(handle);
	if (__builtin_expect(!holds(route, kind, handle) || (uintptr_t)caller - route->caller >= route->caller_bytes, 0))
		return begin_anew(kind, caller, handle);
	gs_thread.inside = 1;
	if (__builtin_expect(is_current(route), 1))
		return route;
	gs_thread.inside = 0;
	return begin_anew(kind, caller, handle);
}

/* The functions are those by which the call is counted. Ticks of its end are 0 where it was not timed. */
static inline __attribute__((always_inline)) bool quick_end(enum gs_fn runtime_fn, enum gs_fn driver_fn, bool answered,
							 uint64_t ticks, uint64_t end_ticks)
{
	if (__builtin_expect(answered, 1)) {
		struct gs_counter_block *counters = gs_counter_block_own();

		gs_counter_block_add(counters, runtime_fn, 0);
		gs_counter_block_add(counters, driver_fn, ticks);
		if (end_ticks != 0)
			gs_call_do_due(CUDA_SUCCESS, end_ticks);
		else if (__builtin_expect(gs_trigger_is_due(0), 0))
			gs_trigger_fire(0);
	}
	gs_thread.inside = 0;
	return answered;
}

/* --- a call that somebody is told of, or that is timed ------------------------------------------------------------ */

static inline uint64_t time_of(uint64_t start_ticks)
{
	return start_ticks != 0 ? gs_clock_at(start_ticks) : gs_clock_ns();
}

static inline uint64_t begin_ticks(void)
{
	return gs_call_timed ? gs_ticks() : 0;
}

static inline bool noted_end(enum gs_fn runtime_fn, enum gs_fn driver_fn, bool answered, uint64_t start_ticks, uint64_t end_ticks)
{
	if (answered && start_ticks != 0 && end_ticks == 0)
		end_ticks = gs_ticks();
	if (start_ticks == 0)
		end_ticks = 0;
	return quick_end(runtime_fn, driver_fn, answered, end_ticks - start_ticks, end_ticks);
}

/* An allocation is told when it was only if there is a history to look that up in. What else happens to the memory comes after
 * it was served, and has a later time. */
static __attribute__((noinline)) bool alloc_noted(const struct gs_route *route, const void *caller, void **ret_pointer,
						  size_t size_bytes, enum gs_fn runtime_fn, enum gs_fn driver_fn)
{
	uint64_t start_ticks = begin_ticks(), end_ticks = 0;
	struct gsa_request request = route->request;
	struct gsa_note note;
	bool answered;

	request.size_bytes = size_bytes;
	request.stack = gs_note_stack_at(caller);
	if (gs_conf.history != 0 || start_ticks != 0)
		request.time_ns = time_of(start_ticks);
	answered = gsa_alloc_held(route->allocator, &request, &note.address) == GS_OK;
	if (answered && (gs_conf.history != 0 || (gs_conf.snapshot & GS_SNAPSHOT_PEAK) != 0)) {
		note.size_bytes = size_bytes;
		note.stack = request.stack;
		end_ticks = gs_ticks();
		gs_note_served(route->device, &note, request.stream != NULL ? request.stream->id : 0, gs_clock_at(end_ticks));
	}
	if (answered)
		*ret_pointer = (void *)(uintptr_t)note.address;
	return noted_end(runtime_fn, driver_fn, answered, start_ticks, end_ticks);
}

static __attribute__((noinline)) bool free_noted(const struct gs_route *route, void *pointer, enum gs_fn runtime_fn,
						 enum gs_fn driver_fn)
{
	const struct gsa_stream *stream = route->request.stream;
	uint64_t start_ticks = begin_ticks();
	uint64_t when_ns = gs_conf.history != 0 ? time_of(start_ticks) : 0;
	struct gsa_note note;
	bool answered = gsa_free_held(route->allocator, (uint64_t)(uintptr_t)pointer, stream, &note) == GS_OK;

	if (answered && gs_conf.history != 0)
		gs_note_freed(route->device, &note, stream != NULL ? stream->id : 0, when_ns);
	return noted_end(runtime_fn, driver_fn, answered, start_ticks, 0);
}

/* --- the calls ---------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) bool alloc_on(struct gs_route *route, const void *caller, void **devPtr, size_t size,
							 enum gs_fn runtime_fn, enum gs_fn driver_fn)
{
	uint64_t address;
	bool answered;

	if (route->noted)
		return alloc_noted(route, caller, devPtr, size, runtime_fn, driver_fn);
	route->request.size_bytes = size;
	answered = gsa_alloc_held(route->allocator, &route->request, &address) == GS_OK;
	if (answered)
		*devPtr = (void *)(uintptr_t)address;
	return quick_end(runtime_fn, driver_fn, answered, 0, 0);
}

/* Out of line: few streams take part. */
static __attribute__((noinline)) bool needs_command(const struct gs_route *route)
{
	return gs_memory_free_needs_command(&route->stream);
}

static inline __attribute__((always_inline)) bool free_on(const struct gs_route *route, void *devPtr, enum gs_fn runtime_fn,
							enum gs_fn driver_fn)
{
	if (__builtin_expect(route->takes_part, 0) && needs_command(route)) {
		gs_thread.inside = 0;
		return false;
	}
	if (route->noted)
		return free_noted(route, devPtr, runtime_fn, driver_fn);
	return quick_end(runtime_fn, driver_fn,
			 gsa_free_held(route->allocator, (uint64_t)(uintptr_t)devPtr, route->request.stream, NULL) == GS_OK, 0, 0);
}

bool gs_quick_cudaMalloc(const void *caller, void **devPtr, size_t size)
{
	struct gs_route *route;

	if (devPtr == NULL || gs_torch_is_caller(caller) || (route = quick_begin(GS_QUICK_cudaMalloc, caller, NO_STREAM)) == NULL)
		return false;
	return alloc_on(route, caller, devPtr, size, GS_FN_cudaMalloc, GS_FN_cuMemAlloc_v2);
}

bool gs_quick_cudaFree(const void *caller, void *devPtr)
{
	struct gs_route *route;

	if (devPtr == NULL || (route = quick_begin(GS_QUICK_cudaFree, caller, NO_STREAM)) == NULL)
		return false;
	if (!gs_memory_free_waits())
		return free_on(route, devPtr, GS_FN_cudaFree, GS_FN_cuMemFree_v2);
	gs_thread.inside = 0;
	return false;
}

/* The default stream of these functions is that of the thread. */
static inline CUstream per_thread(cudaStream_t hStream)
{
	return hStream != NULL ? hStream : CU_STREAM_PER_THREAD;
}

bool gs_quick_cudaMallocAsync(const void *caller, void **devPtr, size_t size, cudaStream_t hStream)
{
	struct gs_route *route;

	if (devPtr == NULL || (route = quick_begin(GS_QUICK_cudaMallocAsync, caller, hStream)) == NULL)
		return false;
	return alloc_on(route, caller, devPtr, size, GS_FN_cudaMallocAsync, GS_FN_cuMemAllocAsync);
}

bool gs_quick_cudaMallocAsync_ptsz(const void *caller, void **devPtr, size_t size, cudaStream_t hStream)
{
	struct gs_route *route;

	if (devPtr == NULL || (route = quick_begin(GS_QUICK_cudaMallocAsync_ptsz, caller, per_thread(hStream))) == NULL)
		return false;
	return alloc_on(route, caller, devPtr, size, GS_FN_cudaMallocAsync_ptsz, GS_FN_cuMemAllocAsync_ptsz);
}

bool gs_quick_cudaFreeAsync(const void *caller, void *devPtr, cudaStream_t hStream)
{
	struct gs_route *route;

	if (devPtr == NULL || (route = quick_begin(GS_QUICK_cudaFreeAsync, caller, hStream)) == NULL)
		return false;
	return free_on(route, devPtr, GS_FN_cudaFreeAsync, GS_FN_cuMemFreeAsync);
}

bool gs_quick_cudaFreeAsync_ptsz(const void *caller, void *devPtr, cudaStream_t hStream)
{
	struct gs_route *route;

	if (devPtr == NULL || (route = quick_begin(GS_QUICK_cudaFreeAsync_ptsz, caller, per_thread(hStream))) == NULL)
		return false;
	return free_on(route, devPtr, GS_FN_cudaFreeAsync_ptsz, GS_FN_cuMemFreeAsync_ptsz);
}

bool gs_quick_device(const struct gs_runtime *real, int *device)
{
	CUcontext current = NULL;

	if (told.real != real || told.epoch != gs_epoch() || device == NULL || gs_thread.inside != 0 || gs_thread.runtime_fn != 0 ||
	    gs_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != told.context)
		return false;
	gs_counter_add(GS_FN_cudaGetDevice, 0);
	*device = told.ordinal;
	return true;
}

void gs_quick_device_left(const struct gs_runtime *real, cudaError_t result, const int *device)
{
	uint64_t epoch = gs_epoch();
	CUcontext current = NULL;
	CUdevice ordinal;

	if (result != cudaSuccess || real->start == 0 || gs_mode() != GS_MODE_ACTIVE || atomic_load(&stopped) ||
	    gs_order_broken() || gs_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL ||
	    gs_driver.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS || ordinal != *device)
		return;
	told.real = real;
	told.context = current;
	told.epoch = epoch;
	told.ordinal = ordinal;
}
