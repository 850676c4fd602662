/* Device memory: which calls the allocator serves, and what is noted of those that the driver serves.
 *
 * The rule of all handlers: whatever is not surely ours is the driver's, with the driver's own answer. Served are
 * cudaMalloc and its kin (cuMemAlloc), and stream-ordered allocations from the device's default pool. While a capture
 * is open everything goes to the driver: cudaMalloc is refused there or not by the driver's own rules, and
 * stream-ordered allocations become nodes of the graph (H9).
 *
 * So what a graph allocates is the driver's own graph memory, and we build no pools for graphs. It is exact: such memory
 * has an address before it exists, lives from launch to launch, is freed by a node, by the program or by the next launch,
 * and outlives the graph with its executables; programs see the nodes and count them. And it costs nothing: graphs that
 * do not run at the same time share what is behind their addresses, so many shapes take what the largest takes, where a
 * private pool for each would take the sum (H10). PyTorch's own allocator makes its private pools of cudaMalloc in
 * relaxed mode, which is a plain allocation then as ever. What is freed to us meanwhile waits until the capture has
 * ended.
 *
 * Memory that an allocator holds never reaches the driver's own free: what is not the start of a live block there
 * (freed already, perhaps by another thread meanwhile; an address inside) is refused, as the driver refuses it. Of a
 * plain allocation that we cache the driver does not know that the program has freed it. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/base/err.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/device_ops.h"
#include "shim/core/fences.h"
#include "shim/core/moment.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/ipc/neighbour.h"
#include "shim/submit/submit.h"
#include "shim/torch/torch.h"
#include "shim/watch/hazard.h"
#include "shim/watch/note.h"
#include "shim/wrap/memory.h"

static CUresult out_of_memory(const struct gs_call *call, struct gs_device *device, uint64_t size_bytes)
{
	gs_note_out_of_memory(call, device, size_bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Whether other processes may have what is lacking: it is not what this one may hold that is used up. */
static bool others_may_help(const struct gs_device *device, uint64_t size_bytes)
{
	uint64_t limit_bytes = gs_device_limit(device);
	struct gsa_stats stats;

	if (size_bytes > device->total_bytes)
		return false;
	gsa_stats_read(device->allocator, &stats);
	return limit_bytes == 0 || stats.reserved_bytes.now + size_bytes <= limit_bytes;
}

/* We have answered the call ourselves; work: gs_thread.memory_work before that. */
static void served(struct gs_call *call, uint32_t work)
{
	gs_thread.served_from = call->caller;
	call->wait.cached = gs_thread.memory_work == work;
}

/* As gsa_alloc. A full device may be full of graphs of ours, and of what other processes keep for themselves. */
static int alloc(const struct gs_device *device, const struct gsa_request *request, struct gsa_block_info *ret_block)
{
	int error = gsa_alloc(device->allocator, request, ret_block);

	if (error == GS_E_NO_MEMORY && others_may_help(device, request->size_bytes) &&
	    (gs_submit_trim() > 0) + gs_neighbours_purge(device->uuid) > 0) {
		struct gsa_request again = *request;

		again.again = true;
		error = gsa_alloc(device->allocator, &again, ret_block);
	}
	return error;
}

/* Memory that must be a driver allocation of its own, given back when freed: PyTorch's segments, which it caches
 * itself (H29); what other processes may open without our help; and memory of several devices without full peer
 * access, where virtual memory would behave differently in copies (H14). */
bool gs_memory_needs_plain(bool torch)
{
	return torch || gs_conf.ipc == GS_IPC_LEGACY || !gs_device_all_peers();
}

static bool serves_caller(bool torch)
{
	return gs_conf.backend != GS_BACKEND_OFF && !gs_order_capturing() && !gs_order_broken() &&
	       !(torch && gs_conf.torch == GS_TORCH_OFF);
}

CUresult gs_on_cuMemAlloc_v2(struct gs_call *call, PFN_cuMemAlloc_v3020 real, CUdeviceptr_v2 *dptr, size_t bytesize)
{
	struct gs_device *device;
	struct gs_context context;
	CUresult result;
	bool torch = gs_torch_is_caller(gs_thread.caller);
	uint32_t work = gs_thread.memory_work;

	if (dptr != NULL && bytesize != 0 && serves_caller(torch) && (device = gs_device_current(&context)) != NULL) {
		struct gsa_request request = {
		    .size_bytes = bytesize,
		    .origin = GSA_ORIGIN_LEGACY,
		    .owner = (uint64_t)(uintptr_t)context.handle,
		    .plain = gs_memory_needs_plain(torch),
		    .stack = gs_note_stack(call),
		    .thread = gs_thread_id(),
		};
		struct gsa_block_info block;
		int error = alloc(device, &request, &block);

		if (error == GS_OK) {
			served(call, work);
			gs_note_alloc(device, &block);
			*dptr = block.address;
			if (torch)
				gs_torch_served();
			return CUDA_SUCCESS;
		}
		if (error == GS_E_NO_MEMORY && torch && !gs_torch_gives_up(bytesize))
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (error == GS_E_NO_MEMORY)
			return out_of_memory(call, device, bytesize);
	}
	gs_submit_flush();
	result = real(dptr, bytesize);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(dptr, bytesize);
	if (result == CUDA_SUCCESS)
		gs_note_driver_alloc(call, GS_LIVE_DRIVER, *dptr, bytesize);
	return result;
}

CUresult gs_on_cuMemAllocPitch_v2(struct gs_call *call, PFN_cuMemAllocPitch_v3020 real, CUdeviceptr_v2 *dptr,
				  size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes)
{
	CUresult result;

	gs_submit_flush();
	result = real(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	if (result == CUDA_SUCCESS)
		gs_note_driver_alloc(call, GS_LIVE_DRIVER, *dptr, *pPitch * Height);
	return result;
}

CUresult gs_on_cuMemAllocManaged(struct gs_call *call, PFN_cuMemAllocManaged_v6000 real, CUdeviceptr_v2 *dptr,
				 size_t bytesize, unsigned int flags)
{
	CUresult result;

	gs_submit_flush();
	result = real(dptr, bytesize, flags);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(dptr, bytesize, flags);
	if (result == CUDA_SUCCESS)
		gs_note_driver_alloc(call, GS_LIVE_MANAGED, *dptr, bytesize);
	return result;
}

/* The stream, its context and its device, if the current context is the stream's own: otherwise the call is the
 * driver's. */
static struct gs_device *async_device(const struct gs_call *call, CUstream handle, struct gsa_stream *ret_stream,
				      struct gs_context *ret_context)
{
	struct gs_device *device;

	if (gs_conf.backend == GS_BACKEND_OFF || gs_order_capturing() || gs_order_broken())
		return NULL;
	device = gs_device_current(ret_context);
	if (device == NULL || !device->pools ||
	    !gs_stream_resolve(handle, gs_fn_info[call->fn].per_thread, ret_stream) ||
	    ret_stream->owner != (uint64_t)(uintptr_t)ret_context->handle)
		return NULL;
	return device;
}

/* Serves a stream-ordered allocation from the default pool of the device, or says that there is no memory. False: the
 * call is the driver's. */
static bool serve_async(struct gs_call *call, struct gs_device *device, const struct gs_context *context,
			const struct gsa_stream *stream, CUdeviceptr_v2 *dptr, size_t bytesize, CUresult *ret_result)
{
	struct gsa_request request = {
	    .size_bytes = bytesize,
	    .origin = GSA_ORIGIN_ASYNC,
	    .stream = stream,
	    .owner = stream->owner,
	    .pool = (uint64_t)(uintptr_t)device->default_pool,
	    .lasting = !context->primary,
	    .stack = gs_note_stack(call),
	    .thread = gs_thread_id(),
	};
	struct gsa_block_info block;
	uint32_t work = gs_thread.memory_work;
	int error = alloc(device, &request, &block);

	if (error == GS_OK) {
		served(call, work);
		gs_note_alloc(device, &block);
		*dptr = block.address;
		*ret_result = CUDA_SUCCESS;
	} else if (error == GS_E_NO_MEMORY) {
		*ret_result = out_of_memory(call, device, bytesize);
	}
	return error == GS_OK || error == GS_E_NO_MEMORY;
}

CUresult gs_on_cuMemAllocAsync(struct gs_call *call, PFN_cuMemAllocAsync_v11020 real, CUdeviceptr_v2 *dptr,
			       size_t bytesize, CUstream hStream)
{
	struct gsa_stream stream;
	struct gs_context context;
	struct gs_device *device;
	CUresult result;

	if (dptr != NULL && bytesize != 0 && (device = async_device(call, hStream, &stream, &context)) != NULL &&
	    atomic_load(&device->default_is_current) && serve_async(call, device, &context, &stream, dptr, bytesize, &result))
		return result;
	gs_submit_flush();
	result = real(dptr, bytesize, hStream);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(dptr, bytesize, hStream);
	if (result == CUDA_SUCCESS)
		gs_note_pool_alloc(call, *dptr, bytesize);
	return result;
}

CUresult gs_on_cuMemAllocFromPoolAsync(struct gs_call *call, PFN_cuMemAllocFromPoolAsync_v11020 real,
				       CUdeviceptr_v2 *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	struct gsa_stream stream;
	struct gs_context context;
	struct gs_device *device;
	CUresult result;

	if (dptr != NULL && bytesize != 0 && (device = async_device(call, hStream, &stream, &context)) != NULL &&
	    pool == device->default_pool && serve_async(call, device, &context, &stream, dptr, bytesize, &result))
		return result;
	gs_submit_flush();
	result = real(dptr, bytesize, pool, hStream);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(dptr, bytesize, pool, hStream);
	if (result == CUDA_SUCCESS)
		gs_note_pool_alloc(call, *dptr, bytesize);
	return result;
}

/* Whether cudaFree must wait as the driver's own does (H4). */
bool gs_memory_free_waits(void)
{
	return gs_conf.free_sync == GS_FREE_SYNC_ALWAYS ||
	       (gs_conf.free_sync == GS_FREE_SYNC_AUTO && gs_order_to_host_pending());
}

/* Memory that others map is given back rather than used again, at once if that is possible (H13). */
static CUresult shared_freed(const struct gs_device *device, const struct gsa_block_info *block, bool wait)
{
	CUresult result = CUDA_SUCCESS;

	if (wait && !gs_order_capturing())
		result = gs_moment_await((CUcontext)(uintptr_t)block->owner);

	gsa_share_sweep(device->allocator);
	return result;
}

/* Whether the address is in a book of ours. The driver gives addresses of a context that has ended to others before it is
 * out of the books. */
static bool is_held(uint64_t address)
{
	if (!gs_device_holds(address))
		return false;
	gs_order_await();
	return gs_device_holds(address);
}

/* Before it is freed. What becomes the driver's at once is waited for first: its own free does, and meanwhile no context could end. */
static CUresult await_free(CUdeviceptr address)
{
	bool waits = gs_memory_free_waits() || gs_order_broken();
	bool plain = gs_memory_needs_plain(gs_torch_is_caller(gs_thread.caller)) && !gs_order_capturing();
	struct gsa_block_info block;

	if (!(waits || plain) || gs_device_of(address, &block) == NULL || block.address != address || !(waits || block.exact))
		return CUDA_SUCCESS;
	return gs_moment_await((CUcontext)(uintptr_t)block.owner);
}

CUresult gs_on_cuMemFree_v2(struct gs_call *call, PFN_cuMemFree_v3020 real, CUdeviceptr_v2 dptr)
{
	uint32_t work = gs_thread.memory_work;
	struct gsa_block_info block;
	struct gs_device *device;
	uint64_t when_ns;
	CUresult result;

	if (dptr != 0 && (result = await_free(dptr)) != CUDA_SUCCESS)
		return result;
	when_ns = gs_note_now();
	if (dptr != 0 && (device = gs_device_free(dptr, NULL, &block)) != NULL) {
		gs_note_free(device, &block, 0, when_ns);
		result = CUDA_SUCCESS;
		if (block.shared)
			result = shared_freed(device, &block, true);
		else if (!gs_order_capturing() && gsa_ran_ahead(device->allocator))
			result = gs_moment_await((CUcontext)(uintptr_t)block.owner);
		served(call, work);
		return result;
	}
	if (dptr != 0 && is_held(dptr))
		return CUDA_ERROR_INVALID_VALUE;
	gs_submit_flush();
	result = real(dptr);
	if (result == CUDA_SUCCESS)
		gs_note_driver_free(dptr);
	return result;
}

/* Whether the driver has something against a stream of which it does not say which one it is. */
static CUresult unknown_stream(CUstream handle)
{
	unsigned int flags;

	return gs_driver.cuStreamGetFlags(handle, &flags);
}

/* Frees what is ours on the stream; NULL: without a known stream, so that memory waits for all of them. False: not
 * ours. */
static bool free_ours(uint64_t address, const struct gsa_stream *stream, CUresult *ret_result)
{
	struct gsa_block_info block;
	struct gs_device *device;
	uint64_t when_ns;

	if (gs_order_broken() && (device = gs_device_of(address, &block)) != NULL && block.address == address &&
	    (*ret_result = gs_moment_await((CUcontext)(uintptr_t)block.owner)) != CUDA_SUCCESS)
		return true;
	when_ns = gs_note_now();
	device = gs_device_free(address, stream, &block);
	if (device == NULL) {
		*ret_result = CUDA_ERROR_INVALID_VALUE;
		return is_held(address);
	}
	gs_note_free(device, &block, stream != NULL ? stream->id : 0, when_ns);
	*ret_result = block.shared ? shared_freed(device, &block, false) : CUDA_SUCCESS;
	return true;
}

/* The driver's own free is a command of its stream. Memory that is freed on the legacy stream may be had there again at once, and be
 * used on a blocking stream, which then comes after what other blocking streams did with it; and whoever waits for a blocking
 * stream that memory was freed on knows that the legacy stream has done with it. */
static _Thread_local struct {
	uint64_t stream_id, mark;
	bool takes_part;
} last __attribute__((tls_model("initial-exec")));

bool gs_memory_free_needs_command(const struct gsa_stream *stream)
{
	return !gs_fence_barrier_stands(stream, last.stream_id == stream->id ? last.mark : 0);
}

static CUresult give_command(const struct gsa_stream *stream)
{
	if (last.stream_id != stream->id || stream->handle == (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
		last.stream_id = stream->id;
		last.mark = 0;
		last.takes_part = gs_stream_takes_part(stream);
	}
	return last.takes_part ? gs_fence_barrier(stream, &last.mark) : CUDA_SUCCESS;
}

/* On a stream that captures it is the driver that refuses, and on the legacy one while a blocking one does. */
CUresult gs_on_cuMemFreeAsync(struct gs_call *call, PFN_cuMemFreeAsync_v11020 real, CUdeviceptr_v2 dptr,
			      CUstream hStream)
{
	bool per_thread = gs_fn_info[call->fn].per_thread, known;
	uint32_t work = gs_thread.memory_work;
	CUstream handle = hStream == NULL && per_thread ? CU_STREAM_PER_THREAD : hStream;
	struct gsa_stream stream;
	CUresult result;

	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_frees(call, dptr, hStream);
	if (dptr != 0 && !gs_order_stream_captures(handle)) {
		known = gs_stream_resolve(hStream, per_thread, &stream);
		if (!known && gs_device_holds(dptr) && (result = unknown_stream(handle)) != CUDA_SUCCESS)
			return result;
		if (known && gs_device_holds(dptr) && (result = give_command(&stream)) != CUDA_SUCCESS) {
			known = false;
			if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
			    (result = gs_moment_await((CUcontext)(uintptr_t)stream.owner)) != CUDA_SUCCESS)
				return result;
		}
		if (free_ours(dptr, known ? &stream : NULL, &result)) {
			served(call, work);
			return result;
		}
	}
	gs_submit_flush();
	result = real(dptr, hStream);
	if (result == CUDA_SUCCESS)
		gs_note_driver_free(dptr);
	return result;
}

/* PyTorch's expandable segments ask here; what they are refused is a part of what was asked of them. */
CUresult gs_on_cuMemCreate(struct gs_call *call, PFN_cuMemCreate_v10020 real, CUmemGenericAllocationHandle_v1 *handle,
			   size_t size, const CUmemAllocationProp_v1 *prop, unsigned long long flags)
{
	CUresult result = real(handle, size, prop, flags);
	struct gs_context context;
	struct gs_device *device;

	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(handle, size, prop, flags);
	if (result == CUDA_ERROR_OUT_OF_MEMORY &&
	    gs_torch_is_caller(gs_thread.caller != NULL ? gs_thread.caller : call->caller) &&
	    gs_torch_gives_up(size) && (device = gs_device_current(&context)) != NULL)
		gs_note_out_of_memory(call, device, size);
	if (result == CUDA_SUCCESS)
		gs_note_driver_alloc(call, GS_LIVE_HANDLE, *handle, size);
	return result;
}

CUresult gs_on_cuMemRelease(struct gs_call *call, PFN_cuMemRelease_v10020 real, CUmemGenericAllocationHandle_v1 handle)
{
	CUresult result = real(handle);

	(void)call;
	if (result == CUDA_SUCCESS)
		gs_note_driver_release(handle);
	return result;
}
