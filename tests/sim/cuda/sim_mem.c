/* Plain allocations: device, pitched, managed, pinned and registered memory, and what is free. cuMemFree and
 * cuMemFreeHost wait for the whole context first, as the driver does. */
#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_pool.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_sched.h"

#define PITCH_BYTES 512u
#define HOST_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                                                                 \
	(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |                    \
	 CU_MEMHOSTREGISTER_READ_ONLY)

static CUresult device_alloc(CUdeviceptr *ret_pointer, size_t size_bytes, enum sim_range_kind kind, unsigned flags)
{
	size_t whole = sim_pages_round(size_bytes);
	struct sim_ctx *ctx;
	uintptr_t start;

	SIM_TRY(sim_ctx_current(&ctx));
	if (!ret_pointer || size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (whole < size_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	SIM_TRY(sim_device_charge(ctx->device, whole));
	start = sim_pages_map(size_bytes);
	if (!start) {
		sim_device_discharge(ctx->device, whole);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_range_add((struct sim_range){
	    .start = start, .size_bytes = size_bytes, .kind = kind, .ctx = ctx, .device = ctx->device, .flags = flags});
	*ret_pointer = start;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size_bytes)
{
	SIM_ENTER(cuMemAlloc_v2);
	sim_sched_await_room();
	SIM_TRY(sim_capture_unsafe());
	return device_alloc(pointer, size_bytes, SIM_RANGE_DEVICE, 0);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element_bytes)
{
	size_t row = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;

	SIM_ENTER(cuMemAllocPitch_v2);
	sim_sched_await_room();
	SIM_TRY(sim_capture_unsafe());
	if (!pitch || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (height && row > SIZE_MAX / height)
		return CUDA_ERROR_OUT_OF_MEMORY;
	SIM_TRY(device_alloc(pointer, row * height, SIM_RANGE_DEVICE, 0));
	*pitch = row;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size_bytes, unsigned flags)
{
	SIM_ENTER(cuMemAllocManaged);
	SIM_TRY(sim_capture_unsafe());
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return device_alloc(pointer, size_bytes, SIM_RANGE_MANAGED, flags);
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
	struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemFree_v2);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ctx_current(&ctx));
	if (!pointer)
		return CUDA_SUCCESS;
	range = sim_range_find(pointer);
	if (!range || range->start != pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (range->kind == SIM_RANGE_POOL) {
		sim_sched_drain(ctx);
		return sim_pool_free(range, NULL);
	}
	if (range->kind == SIM_RANGE_GRAPH) {
		sim_sched_drain(ctx);
		return sim_graph_memory_free(range->graph_memory, NULL);
	}
	if ((range->kind != SIM_RANGE_DEVICE && range->kind != SIM_RANGE_MANAGED) || range->freed)
		return CUDA_ERROR_INVALID_VALUE;
	sim_sched_drain(range->ctx);
	SIM_TRY(range->ctx->sticky);
	sim_range_free(range);
	return CUDA_SUCCESS;
}

static CUresult host_alloc(void **ret_memory, size_t size_bytes, unsigned flags)
{
	struct sim_ctx *ctx;
	uintptr_t start;

	SIM_TRY(sim_ctx_current(&ctx));
	if (!ret_memory || (flags & ~(unsigned)HOST_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_memory = NULL;
	if (size_bytes == 0)
		return CUDA_SUCCESS;
	start = sim_pages_map(size_bytes);
	if (!start)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_range_add((struct sim_range){.start = start,
					 .size_bytes = size_bytes,
					 .kind = SIM_RANGE_HOST,
					 .ctx = ctx,
					 .device = ctx->device,
					 .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP});
	*ret_memory = (void *)start;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **memory, size_t size_bytes)
{
	SIM_ENTER(cuMemAllocHost_v2);
	sim_sched_await_room();
	SIM_TRY(sim_capture_unsafe());
	return host_alloc(memory, size_bytes, 0);
}

CUresult cuMemHostAlloc(void **memory, size_t size_bytes, unsigned flags)
{
	SIM_ENTER(cuMemHostAlloc);
	sim_sched_await_room();
	SIM_TRY(sim_capture_unsafe());
	return host_alloc(memory, size_bytes, flags);
}

CUresult cuMemFreeHost(void *memory)
{
	struct sim_range *range;

	SIM_ENTER(cuMemFreeHost);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ready());
	if (!memory)
		return CUDA_SUCCESS;
	range = sim_range_find((uintptr_t)memory);
	if (!range || range->start != (uintptr_t)memory || range->kind != SIM_RANGE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	sim_sched_drain(range->ctx);
	sim_range_free(range);
	return CUDA_SUCCESS;
}

static CUresult host_register(void *memory, size_t size_bytes, unsigned flags)
{
	uintptr_t start = (uintptr_t)memory;
	const struct sim_range *above = sim_range_above(start);
	struct sim_ctx *ctx;

	SIM_TRY(sim_ctx_current(&ctx));
	if (!memory || size_bytes == 0 || start + size_bytes < start || (flags & ~(unsigned)REGISTER_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if (above && above->start < start + size_bytes)
		return above->kind == SIM_RANGE_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
							   : CUDA_ERROR_INVALID_VALUE;
	sim_range_add((struct sim_range){.start = start,
					 .size_bytes = size_bytes,
					 .kind = SIM_RANGE_REGISTERED,
					 .ctx = ctx,
					 .device = ctx->device,
					 .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP});
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *memory, size_t size_bytes, unsigned flags)
{
	SIM_ENTER(cuMemHostRegister);
	SIM_TRY(sim_capture_unsafe());
	return host_register(memory, size_bytes, flags);
}

CUresult cuMemHostRegister_v2(void *memory, size_t size_bytes, unsigned flags)
{
	SIM_ENTER(cuMemHostRegister_v2);
	SIM_TRY(sim_capture_unsafe());
	return host_register(memory, size_bytes, flags);
}

CUresult cuMemHostUnregister(void *memory)
{
	struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemHostUnregister);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ctx_current(&ctx));
	range = sim_range_find((uintptr_t)memory);
	if (range && range->kind == SIM_RANGE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	if (!range || range->start != (uintptr_t)memory || range->kind != SIM_RANGE_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	sim_sched_drain(range->ctx);
	sim_range_free(range);
	return CUDA_SUCCESS;
}

static struct sim_range *host_find(const void *memory)
{
	struct sim_range *range = sim_range_find((uintptr_t)memory);

	return range && (range->kind == SIM_RANGE_HOST || range->kind == SIM_RANGE_REGISTERED) ? range : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pointer, void *memory, unsigned flags)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemHostGetDevicePointer_v2);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!pointer || flags || !host_find(memory))
		return CUDA_ERROR_INVALID_VALUE;
	*pointer = (CUdeviceptr)(uintptr_t)memory;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *memory)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemHostGetFlags);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!flags || !host_find(memory))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = host_find(memory)->flags;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemGetInfo_v2);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*free_bytes = sim_device_free_bytes(ctx->device);
	*total_bytes = ctx->device->capacity_bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size_bytes, CUdeviceptr pointer)
{
	const struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuMemGetAddressRange_v2);
	SIM_TRY(sim_ctx_current(&ctx));
	range = sim_range_find(pointer);
	if (!range || (range->kind == SIM_RANGE_GRAPH && !range->graph_memory->live))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = range->start;
	if (size_bytes)
		*size_bytes = range->size_bytes;
	return CUDA_SUCCESS;
}
