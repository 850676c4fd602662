/* See shim/api/quick.h. What is done here is what memory.c does for the same call below the runtime, of which only the
 * cases are taken that need no driver and cannot fail. The driver's function counts as called, too.
 *
 * What a call needs to know (the device, the stream, that nothing forbids it) is found out once and kept for the thread
 * as a *route*, by the stream that the program named. A route holds as long as the epoch does (shim/core/epoch.h); which
 * context is current the driver is asked each time. */
#include "shim/api/quick.h"

#include <stdatomic.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
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

struct route {
	const struct gs_runtime *real;
	CUstream handle; /* never NULL: the default streams by their own handles; NO_STREAM: for cudaMalloc and cudaFree */
	uint64_t epoch;
	uint32_t kinds; /* that may be answered, by enum gs_quick_kind */
	struct gs_context context;
	struct gs_device *device;
	struct gsa_stream stream;
};

static _Thread_local struct route routes[ROUTES] __attribute__((tls_model("initial-exec")));
GSB_HOT static _Atomic bool stopped;

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
	for (unsigned i = 0; i < ROUTES; i++)
		routes[i].epoch = 0;
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

/* The thread's device, if the runtime would only pass the call on to us. */
static struct gs_device *device_learn(const struct gs_runtime *real, enum gs_quick_kind kind,
				      struct gs_context *ret_context)
{
	struct gs_device *device;

	if (gs_thread.quick_runtime != real || (gs_thread.quick_kinds >> kind & 1) == 0 ||
	    gs_mode() != GS_MODE_ACTIVE || atomic_load(&stopped) || gs_order_capturing() || gs_order_broken())
		return NULL;
	device = gs_device_current(ret_context);
	if (device != NULL && ret_context->id == gs_thread.quick_context)
		return device;
	forget();
	return NULL;
}

/* Whether calls of this kind may be answered on the route, whose stream is found out. */
static bool kind_learn(struct route *route, enum gs_quick_kind kind)
{
	switch (kind) {
	case GS_QUICK_cudaMalloc:
		return !gs_memory_needs_plain(false);
	case GS_QUICK_cudaFree:
		return true;
	case GS_QUICK_cudaMallocAsync:
	case GS_QUICK_cudaMallocAsync_ptsz:
		return route->device->pools && atomic_load(&route->device->default_is_current) &&
		       gs_stream_resolve_in(&route->context, route->handle, false, &route->stream) &&
		       route->stream.owner == (uint64_t)(uintptr_t)route->context.handle;
	case GS_QUICK_cudaFreeAsync:
	case GS_QUICK_cudaFreeAsync_ptsz:
		return gs_stream_resolve_in(&route->context, route->handle, false, &route->stream);
	}
	return false;
}

static __attribute__((noinline, cold)) bool route_learn(struct route *route, const struct gs_runtime *real,
						  enum gs_quick_kind kind, CUstream handle)
{
	struct route learned = {.real = real, .handle = handle, .epoch = gs_epoch()};

	learned.device = device_learn(real, kind, &learned.context);
	if (learned.device == NULL || !kind_learn(&learned, kind))
		return false;
	learned.kinds = 1u << kind;
	/* Of this epoch it is of this runtime and context, too: others are forgotten. */
	if (route->handle == handle && route->epoch == learned.epoch)
		learned.kinds |= route->kinds;
	*route = learned;
	return true;
}

/* Begins to answer a call: NULL where it has to enter the runtime. Followed by answer_begin and answer_end. */
static inline __attribute__((always_inline)) const struct route *
quick_begin(const struct gs_runtime *real, enum gs_quick_kind kind, CUstream handle)
{
	struct route *route = &routes[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % ROUTES];
	CUcontext current = NULL;

	__asm__("" : "+r"(route)); /* found once: the compiler takes it to be cheap to find again */
	if (gs_thread.inside != 0 || gs_thread.runtime_fn != 0)
		return NULL;
	gs_thread.inside = 1;
	if (__builtin_expect(route->handle == handle && route->real == real && (route->kinds >> kind & 1) != 0 &&
				     route->epoch == gs_epoch() &&
				     gs_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
				     current == route->context.handle,
			     1))
		return route;
	if (route_learn(route, real, kind, handle))
		return route;
	gs_thread.inside = 0;
	return NULL;
}

/* What is known of a call that is being answered. */
struct answer {
	const struct route *route;
	const void *caller;
	uint64_t start_ticks; /* 0: not timed */
	uint64_t end_ticks;   /* 0: not taken yet */
};

static inline struct answer answer_begin(const struct route *route, const void *caller)
{
	return (struct answer){route, caller, gs_call_timed ? gs_ticks() : 0, 0};
}

static inline uint64_t time_of(const struct answer *answer)
{
	return answer->start_ticks != 0 ? gs_clock_at(answer->start_ticks) : gs_clock_ns();
}

/* For an allocation, which is told when it was only if there is a history to look that up in. */
static inline uint64_t birth_of(const struct answer *answer)
{
	return gs_conf.history != 0 || answer->start_ticks != 0 ? time_of(answer) : GSA_TIME_NONE;
}

/* After it was served: of what else happened to the memory, all came before. */
static inline uint64_t served_at(struct answer *answer)
{
	answer->end_ticks = gs_ticks();
	return gs_clock_at(answer->end_ticks);
}

/* The functions are those by which the call is counted. */
static inline __attribute__((always_inline)) bool answer_end(const struct answer *answer, enum gs_fn runtime_fn, enum gs_fn driver_fn, bool answered)
{
	if (__builtin_expect(answered, 1)) {
		uint64_t end_ticks = answer->start_ticks == 0 ? 0 : answer->end_ticks != 0 ? answer->end_ticks : gs_ticks();
		struct gs_counter_block *counters = gs_counter_block_own();

		gs_counter_block_add(counters, runtime_fn, 0);
		gs_counter_block_add(counters, driver_fn, end_ticks - answer->start_ticks);
		gs_call_do_due(CUDA_SUCCESS, end_ticks);
	}
	gs_thread.inside = 0;
	return answered;
}

static inline __attribute__((always_inline)) bool alloc_held(struct answer *answer, const struct gsa_request *request, void **ret_pointer)
{
	const struct gs_device *device = answer->route->device;
	struct gsa_note note = {.size_bytes = request->size_bytes, .stack = request->stack};

	if (gsa_alloc_held(device->allocator, request, &note.address) != GS_OK)
		return false;
	if (gs_conf.history != 0 || (gs_conf.snapshot & GS_SNAPSHOT_PEAK) != 0)
		gs_note_served(device, &note, request->stream != NULL ? request->stream->id : 0, served_at(answer));
	*ret_pointer = (void *)(uintptr_t)note.address;
	return true;
}

static inline __attribute__((always_inline)) bool free_held(const struct answer *answer, void *pointer, const struct gsa_stream *stream)
{
	const struct gs_device *device = answer->route->device;
	uint64_t when_ns = gs_conf.history != 0 ? time_of(answer) : 0;
	struct gsa_note note;

	if (gsa_free_held(device->allocator, (uint64_t)(uintptr_t)pointer, stream, &note) != GS_OK)
		return false;
	if (gs_conf.history != 0)
		gs_note_freed(device, &note, stream != NULL ? stream->id : 0, when_ns);
	return true;
}

bool gs_quick_cudaMalloc(const struct gs_runtime *real, const void *caller, void **devPtr, size_t size)
{
	const struct route *route;
	struct answer answer;
	bool answered = false;

	if (devPtr == NULL || size == 0 || (route = quick_begin(real, GS_QUICK_cudaMalloc, NO_STREAM)) == NULL)
		return false;
	answer = answer_begin(route, caller);
	if (!gs_torch_is_caller(caller)) {
		struct gsa_request request = {
			.size_bytes = size,
			.origin = GSA_ORIGIN_LEGACY,
			.owner = (uint64_t)(uintptr_t)route->context.handle,
			.stack = gs_note_stack_at(caller),
			.thread = gs_thread_id(),
			.time_ns = birth_of(&answer),
		};

		answered = alloc_held(&answer, &request, devPtr);
	}
	return answer_end(&answer, GS_FN_cudaMalloc, GS_FN_cuMemAlloc_v2, answered);
}

bool gs_quick_cudaFree(const struct gs_runtime *real, const void *caller, void *devPtr)
{
	const struct route *route;
	struct answer answer;

	if (devPtr == NULL || (route = quick_begin(real, GS_QUICK_cudaFree, NO_STREAM)) == NULL)
		return false;
	answer = answer_begin(route, caller);
	return answer_end(&answer, GS_FN_cudaFree, GS_FN_cuMemFree_v2,
			  !gs_memory_free_waits() && free_held(&answer, devPtr, NULL));
}

static inline CUstream default_or(cudaStream_t hStream, bool per_thread)
{
	return hStream != NULL ? hStream : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static inline __attribute__((always_inline)) bool malloc_async(const struct gs_runtime *real, const void *caller,
							       bool per_thread, void **devPtr, size_t size,
							       cudaStream_t hStream)
{
	const struct route *route;
	struct answer answer;

	if (devPtr == NULL || size == 0 ||
	    (route = quick_begin(real, per_thread ? GS_QUICK_cudaMallocAsync_ptsz : GS_QUICK_cudaMallocAsync,
				 default_or(hStream, per_thread))) == NULL)
		return false;
	answer = answer_begin(route, caller);

	struct gsa_request request = {
		.size_bytes = size,
		.origin = GSA_ORIGIN_ASYNC,
		.stream = &route->stream,
		.owner = route->stream.owner,
		.pool = (uint64_t)(uintptr_t)route->device->default_pool,
		.lasting = !route->context.primary,
		.stack = gs_note_stack_at(caller),
		.thread = gs_thread_id(),
		.time_ns = birth_of(&answer),
	};

	return answer_end(&answer, per_thread ? GS_FN_cudaMallocAsync_ptsz : GS_FN_cudaMallocAsync,
			  per_thread ? GS_FN_cuMemAllocAsync_ptsz : GS_FN_cuMemAllocAsync,
			  alloc_held(&answer, &request, devPtr));
}

static inline __attribute__((always_inline)) bool free_async(const struct gs_runtime *real, const void *caller,
							     bool per_thread, void *devPtr, cudaStream_t hStream)
{
	const struct route *route;
	struct answer answer;

	if (devPtr == NULL ||
	    (route = quick_begin(real, per_thread ? GS_QUICK_cudaFreeAsync_ptsz : GS_QUICK_cudaFreeAsync,
				 default_or(hStream, per_thread))) == NULL)
		return false;
	answer = answer_begin(route, caller);
	return answer_end(&answer, per_thread ? GS_FN_cudaFreeAsync_ptsz : GS_FN_cudaFreeAsync,
			  per_thread ? GS_FN_cuMemFreeAsync_ptsz : GS_FN_cuMemFreeAsync,
			  free_held(&answer, devPtr, &route->stream));
}

bool gs_quick_cudaMallocAsync(const struct gs_runtime *real, const void *caller, void **devPtr, size_t size,
			      cudaStream_t hStream)
{
	return malloc_async(real, caller, false, devPtr, size, hStream);
}

bool gs_quick_cudaMallocAsync_ptsz(const struct gs_runtime *real, const void *caller, void **devPtr, size_t size,
				   cudaStream_t hStream)
{
	return malloc_async(real, caller, true, devPtr, size, hStream);
}

bool gs_quick_cudaFreeAsync(const struct gs_runtime *real, const void *caller, void *devPtr, cudaStream_t hStream)
{
	return free_async(real, caller, false, devPtr, hStream);
}

bool gs_quick_cudaFreeAsync_ptsz(const struct gs_runtime *real, const void *caller, void *devPtr, cudaStream_t hStream)
{
	return free_async(real, caller, true, devPtr, hStream);
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
