/* See shim/api/quick.h. What is done here is what memory.c does for the same call below the runtime, of which only the
 * cases are taken that need no driver and cannot fail. The driver's function counts as called, too. */
#include "shim/api/quick.h"

#include <stdatomic.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/torch/torch.h"
#include "shim/watch/note.h"
#include "shim/wrap/memory.h"

static _Atomic bool stopped;

void gs_quick_stop(void)
{
	atomic_store(&stopped, true);
}

void gs_quick_left(const struct gs_runtime *real, enum gs_quick_kind kind, cudaError_t result)
{
	uintptr_t from = (uintptr_t)gs_thread.served_from;
	struct gs_context context;

	if (from < real->start || from >= real->end || result != cudaSuccess || gs_mode() != GS_MODE_ACTIVE ||
	    !gs_context_current(&context))
		return;
	if (gs_thread.quick_runtime != real || gs_thread.quick_context != context.id)
		gs_thread.quick_kinds = 0;
	gs_thread.quick_runtime = real;
	gs_thread.quick_context = context.id;
	gs_thread.quick_kinds |= 1u << kind;
}

/* Begins to answer a call: the thread's device, if the runtime would only pass the call on to us. Followed by
 * quick_end. */
static struct gs_device *quick_begin(const struct gs_runtime *real, enum gs_quick_kind kind,
				     struct gs_context *ret_context)
{
	struct gs_device *device;

	if (real == NULL || gs_thread.quick_runtime != real || (gs_thread.quick_kinds >> kind & 1) == 0 ||
	    gs_mode() != GS_MODE_ACTIVE || gs_thread.inside != 0 || gs_thread.runtime_fn != 0 ||
	    atomic_load_explicit(&stopped, memory_order_relaxed) || gs_order_capturing() || gs_order_broken())
		return NULL;
	gs_thread.inside = 1;
	device = gs_device_current(ret_context);
	if (device != NULL && ret_context->id == gs_thread.quick_context)
		return device;
	gs_thread.quick_kinds = 0;
	gs_thread.inside = 0;
	return NULL;
}

static bool quick_end(const struct gs_call *call, enum gs_fn runtime_fn, bool answered)
{
	if (answered) {
		gs_counter_add(runtime_fn, 0);
		gs_counter_add(call->fn, call->start_ticks != 0 ? gs_ticks() - call->start_ticks : 0);
	}
	gs_thread.inside = 0;
	return answered;
}

/* Whether calls are timed is known once the shim has started, which another thread may be doing now. */
static struct gs_call driver_call(enum gs_fn fn, const void *caller)
{
	bool timed = gs_mode() == GS_MODE_ACTIVE && gs_call_timed;

	return (struct gs_call){.fn = fn, .caller = caller, .start_ticks = timed ? gs_ticks() : 0};
}

static bool alloc_held(const struct gs_device *device, const struct gsa_request *request, void **ret_pointer)
{
	struct gsa_block_info block;

	if (gsa_alloc_held(device->allocator, request, &block) != GS_OK)
		return false;
	gs_note_alloc(device, &block);
	*ret_pointer = (void *)(uintptr_t)block.address;
	return true;
}

bool gs_quick_cudaMalloc(const struct gs_runtime *real, const void *caller, void **devPtr, size_t size)
{
	struct gs_call call = driver_call(GS_FN_cuMemAlloc_v2, caller);
	struct gs_context context;
	struct gs_device *device = quick_begin(real, GS_QUICK_cudaMalloc, &context);
	bool answered = false;

	if (device == NULL)
		return false;
	if (devPtr != NULL && size != 0 && !gs_torch_is_caller(caller) && !gs_memory_needs_plain(false)) {
		struct gsa_request request = {
			.size_bytes = size,
			.origin = GSA_ORIGIN_LEGACY,
			.owner = (uint64_t)(uintptr_t)context.handle,
			.stack = gs_note_stack(&call),
			.thread = gs_thread_id(),
		};

		answered = alloc_held(device, &request, devPtr);
	}
	return quick_end(&call, GS_FN_cudaMalloc, answered);
}

bool gs_quick_cudaFree(const struct gs_runtime *real, const void *caller, void *devPtr)
{
	struct gs_call call = driver_call(GS_FN_cuMemFree_v2, caller);
	struct gs_context context;
	struct gs_device *device = quick_begin(real, GS_QUICK_cudaFree, &context);
	struct gsa_block_info block;
	bool answered = false;

	if (device == NULL)
		return false;
	if (devPtr != NULL && !gs_memory_free_waits() && !gs_memory_ran_ahead(device) &&
	    gsa_free_held(device->allocator, (uint64_t)(uintptr_t)devPtr, NULL, &block) == GS_OK) {
		gs_note_free(device, &block, 0);
		answered = true;
	}
	return quick_end(&call, GS_FN_cudaFree, answered);
}

static bool malloc_async(const struct gs_runtime *real, const void *caller, bool per_thread, void **devPtr, size_t size,
			 cudaStream_t hStream)
{
	struct gs_call call =
		driver_call(per_thread ? GS_FN_cuMemAllocAsync_ptsz : GS_FN_cuMemAllocAsync, caller);
	struct gs_context context;
	struct gs_device *device = quick_begin(
		real, per_thread ? GS_QUICK_cudaMallocAsync_ptsz : GS_QUICK_cudaMallocAsync, &context);
	struct gsa_stream stream;
	bool answered = false;

	if (device == NULL)
		return false;
	if (devPtr != NULL && size != 0 && device->pools && atomic_load(&device->default_is_current) &&
	    gs_stream_resolve_in(&context, hStream, per_thread, &stream) &&
	    stream.owner == (uint64_t)(uintptr_t)context.handle) {
		struct gsa_request request = {
			.size_bytes = size,
			.origin = GSA_ORIGIN_ASYNC,
			.stream = &stream,
			.owner = stream.owner,
			.pool = (uint64_t)(uintptr_t)device->default_pool,
			.lasting = !context.primary,
			.stack = gs_note_stack(&call),
			.thread = gs_thread_id(),
		};

		answered = alloc_held(device, &request, devPtr);
	}
	return quick_end(&call, per_thread ? GS_FN_cudaMallocAsync_ptsz : GS_FN_cudaMallocAsync, answered);
}

static bool free_async(const struct gs_runtime *real, const void *caller, bool per_thread, void *devPtr,
		       cudaStream_t hStream)
{
	struct gs_call call = driver_call(per_thread ? GS_FN_cuMemFreeAsync_ptsz : GS_FN_cuMemFreeAsync, caller);
	struct gs_context context;
	struct gs_device *device = quick_begin(
		real, per_thread ? GS_QUICK_cudaFreeAsync_ptsz : GS_QUICK_cudaFreeAsync, &context);
	struct gsa_block_info block;
	struct gsa_stream stream;
	bool answered = false;

	if (device == NULL)
		return false;
	if (devPtr != NULL && gs_stream_resolve_in(&context, hStream, per_thread, &stream) &&
	    gsa_free_held(device->allocator, (uint64_t)(uintptr_t)devPtr, &stream, &block) == GS_OK) {
		gs_note_free(device, &block, stream.id);
		answered = true;
	}
	return quick_end(&call, per_thread ? GS_FN_cudaFreeAsync_ptsz : GS_FN_cudaFreeAsync, answered);
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
