/* Memory pools: see sim_pool.h. */
#include "tests/sim/cuda/sim_pool.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_sched.h"

struct sim_block {
	struct sim_range *range;
	size_t whole_bytes;
	bool cached;
	struct sim_point freed_at; /* cached: reusable elsewhere from here on */
	struct sim_block *next;	   /* in pool->live or pool->cached */
	struct sim_block **link;   /* what points to us there */
};

struct sim_pool {
	struct sim_device *device;
	bool is_default;
	struct sim_block *live;
	struct sim_block *cached;
	cuuint64_t threshold_bytes;
	int reuse[3]; /* FOLLOW_EVENT_DEPENDENCIES, ALLOW_OPPORTUNISTIC, ALLOW_INTERNAL_DEPENDENCIES */
	cuuint64_t reserved_bytes;
	cuuint64_t reserved_high;
	cuuint64_t used_bytes;
	cuuint64_t used_high;
	struct sim_pool *next;
};

static struct sim_pool *pools;

static struct sim_pool *pool_new(struct sim_device *device)
{
	struct sim_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		abort();
	pool->device = device;
	pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
	pool->next = pools;
	pools = pool;
	sim_handle_add(pool, SIM_KIND_POOL);
	return pool;
}

static struct sim_pool *device_default(struct sim_device *device)
{
	if (!device->default_pool) {
		device->default_pool = pool_new(device);
		device->default_pool->is_default = true;
	}
	return device->default_pool;
}

static struct sim_pool *device_current(struct sim_device *device)
{
	return device->current_pool ? device->current_pool : device_default(device);
}

static void block_link(struct sim_block *block, struct sim_block **list)
{
	block->next = *list;
	block->link = list;
	if (block->next)
		block->next->link = &block->next;
	*list = block;
}

static void block_unlink(struct sim_block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
}

static void block_release(struct sim_pool *pool, struct sim_block *block)
{
	block_unlink(block);
	sim_pages_unmap(block->range->start, block->whole_bytes);
	sim_range_remove(block->range);
	sim_device_discharge(pool->device, block->whole_bytes);
	pool->reserved_bytes -= block->whole_bytes;
	if (block->freed_at.stream)
		sim_stream_put(block->freed_at.stream);
	free(block);
}

/* Gives reached cached blocks back until at most keep_bytes are reserved. */
static void pool_trim(struct sim_pool *pool, cuuint64_t keep_bytes)
{
	struct sim_block *next;

	for (struct sim_block *block = pool->cached; block && pool->reserved_bytes > keep_bytes; block = next) {
		next = block->next;
		if (sim_point_reached(block->freed_at))
			block_release(pool, block);
	}
}

void sim_pool_settle(void)
{
	for (struct sim_pool *pool = pools; pool; pool = pool->next)
		pool_trim(pool, pool->threshold_bytes);
}

static struct sim_block *pool_reuse(struct sim_pool *pool, size_t whole_bytes, const struct sim_stream *stream)
{
	struct sim_block *best = NULL;

	for (struct sim_block *block = pool->cached; block; block = block->next) {
		if (block->whole_bytes < whole_bytes || block->whole_bytes / 2 > whole_bytes)
			continue;
		if (block->freed_at.stream != stream && !(sim_point_reached(block->freed_at) && pool->reuse[1]))
			continue;
		if (!best || block->whole_bytes < best->whole_bytes)
			best = block;
	}
	return best;
}

static void device_reclaim(struct sim_device *device, bool wait)
{
	for (struct sim_pool *pool = pools; pool; pool = pool->next) {
		if (pool->device != device)
			continue;
		while (wait && pool->cached) {
			sim_sched_reach(pool->cached->freed_at);
			pool_trim(pool, 0);
		}
		pool_trim(pool, 0);
	}
}

static struct sim_block *pool_grow(struct sim_pool *pool, size_t size_bytes)
{
	size_t whole = sim_pages_round(size_bytes);
	struct sim_block *block;
	uintptr_t start;

	if (sim_device_charge(pool->device, whole) != CUDA_SUCCESS) {
		device_reclaim(pool->device, false);
		if (sim_device_charge(pool->device, whole) != CUDA_SUCCESS) {
			device_reclaim(pool->device, true);
			if (sim_device_charge(pool->device, whole) != CUDA_SUCCESS)
				return NULL;
		}
	}
	start = sim_pages_map(whole);
	block = calloc(1, sizeof(*block));
	if (!start || !block)
		abort();
	block->whole_bytes = whole;
	block->range = sim_range_add((struct sim_range){.start = start,
							.size_bytes = size_bytes,
							.whole_bytes = whole,
							.kind = SIM_RANGE_POOL,
							.device = pool->device,
							.pool = pool});
	block->range->block = block;
	block_link(block, &pool->live);
	pool->reserved_bytes += whole;
	if (pool->reserved_bytes > pool->reserved_high)
		pool->reserved_high = pool->reserved_bytes;
	return block;
}

static CUresult pool_alloc(CUdeviceptr *ret_pointer, size_t size_bytes, struct sim_pool *pool,
			   struct sim_stream *stream)
{
	struct sim_block *block;

	if (!ret_pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (size_bytes == 0) {
		*ret_pointer = 0;
		return CUDA_SUCCESS;
	}
	if (sim_pages_round(size_bytes) < size_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block = pool_reuse(pool, sim_pages_round(size_bytes), stream);
	if (!block)
		block = pool_grow(pool, size_bytes);
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (block->freed_at.stream)
		sim_stream_put(block->freed_at.stream);
	block->freed_at = (struct sim_point){NULL, 0};
	block->cached = false;
	block_unlink(block);
	block_link(block, &pool->live);
	block->range->size_bytes = size_bytes;
	pool->used_bytes += size_bytes;
	if (pool->used_bytes > pool->used_high)
		pool->used_high = pool->used_bytes;
	*ret_pointer = block->range->start;
	return CUDA_SUCCESS;
}

CUresult sim_pool_free(struct sim_range *range, struct sim_stream *stream)
{
	struct sim_block *block = range->block;

	if (block->cached)
		return CUDA_ERROR_INVALID_VALUE;
	block->cached = true;
	block_unlink(block);
	block_link(block, &range->pool->cached);
	range->pool->used_bytes -= range->size_bytes;
	if (stream) {
		struct sim_op *op = sim_op_new(SIM_OP_FREE, 0);

		sim_op_touch(op, range->start, range->size_bytes, true);
		block->freed_at = (struct sim_point){sim_stream_get(stream), stream->submitted + 1};
		sim_stream_submit(stream, op);
	}
	return CUDA_SUCCESS;
}

/* A range that may be gone by the time it is looked for: its context was destroyed. */
struct plain {
	uintptr_t start;
	uint64_t buffer_id;
};

static void plain_free_run(struct sim_op *op)
{
	const struct plain *plain = (const struct plain *)op->payload;
	struct sim_range *range = sim_range_find(plain->start);

	if (range && range->buffer_id == plain->buffer_id)
		sim_range_free(range);
}

/* cuMemAlloc memory may be freed in the order of a stream too. */
static CUresult plain_free(struct sim_range *range, struct sim_stream *stream)
{
	struct sim_op *op;

	if (range->kind != SIM_RANGE_DEVICE || range->freed)
		return CUDA_ERROR_INVALID_VALUE;
	range->freed = true;
	op = sim_op_new(SIM_OP_FREE, sizeof(struct plain));
	*(struct plain *)op->payload = (struct plain){range->start, range->buffer_id};
	op->run = plain_free_run;
	sim_op_touch(op, range->start, range->size_bytes, true);
	sim_stream_submit(stream, op);
	return CUDA_SUCCESS;
}

static CUresult pool_find(CUmemoryPool handle, struct sim_pool **ret_pool)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = (struct sim_pool *)handle;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuMemAllocAsync, _ptsz, (CUdeviceptr * pointer, size_t size_bytes, CUstream handle),
	 (pointer, size_bytes, handle))
{
	struct sim_stream *stream;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (stream->capture)
		return sim_capture_alloc(stream, size_bytes, pointer);
	return pool_alloc(pointer, size_bytes, device_current(stream->ctx->device), stream);
}

SIM_TWIN(cuMemAllocFromPoolAsync, _ptsz,
	 (CUdeviceptr * pointer, size_t size_bytes, CUmemoryPool pool_handle, CUstream handle),
	 (pointer, size_bytes, pool_handle, handle))
{
	struct sim_stream *stream;
	struct sim_pool *pool;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	SIM_TRY(pool_find(pool_handle, &pool));
	if (stream->capture)
		return sim_capture_alloc(stream, size_bytes, pointer);
	return pool_alloc(pointer, size_bytes, pool, stream);
}

SIM_TWIN(cuMemFreeAsync, _ptsz, (CUdeviceptr pointer, CUstream handle), (pointer, handle))
{
	struct sim_stream *stream;
	struct sim_range *range;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (stream->capture)
		return sim_capture_free(stream, pointer);
	range = sim_range_find(pointer);
	if (!range || range->start != pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (range->kind == SIM_RANGE_GRAPH)
		return sim_graph_memory_free(range->graph_memory, stream);
	return range->kind == SIM_RANGE_POOL ? sim_pool_free(range, stream) : plain_free(range, stream);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetDefaultMemPool);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	*pool = (CUmemoryPool)device_default(device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetMemPool);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	*pool = (CUmemoryPool)device_current(device);
	return CUDA_SUCCESS;
}

static CUresult device_set(CUdevice ordinal, CUmemoryPool handle)
{
	struct sim_device *device;
	struct sim_pool *pool;

	SIM_TRY(sim_device_get(ordinal, &device));
	SIM_TRY(pool_find(handle, &pool));
	if (pool->device != device)
		return CUDA_ERROR_INVALID_VALUE;
	device->current_pool = pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
	SIM_ENTER(cuDeviceSetMemPool);
	return device_set(ordinal, handle);
}

/* Of devices only. */
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
	SIM_ENTER(cuMemSetMemPool);
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_NOT_SUPPORTED;
	return device_set(location->id, handle);
}

CUresult cuMemPoolCreate(CUmemoryPool *handle, const CUmemPoolProps *props)
{
	struct sim_device *device;

	SIM_ENTER(cuMemPoolCreate);
	SIM_TRY(sim_ready());
	if (!handle || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_device_get(props->location.id, &device));
	*handle = (CUmemoryPool)pool_new(device);
	return CUDA_SUCCESS;
}

static void pool_empty(struct sim_pool *pool)
{
	while (pool->live)
		block_release(pool, pool->live);
	while (pool->cached) {
		sim_sched_reach(pool->cached->freed_at);
		pool_trim(pool, 0);
	}
}

/* The pool goes at once here, so its outstanding allocations go with it. */
CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	struct sim_pool **link = &pools;
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolDestroy);
	SIM_TRY(pool_find(handle, &pool));
	if (pool->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	pool_empty(pool);
	if (pool->device->current_pool == pool)
		pool->device->current_pool = NULL;
	while (*link != pool)
		link = &(*link)->next;
	*link = pool->next;
	sim_handle_remove(pool);
	free(pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes)
{
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolTrimTo);
	SIM_TRY(pool_find(handle, &pool));
	pool_trim(pool, keep_bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolGetAttribute);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(pool_find(handle, &pool));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = pool->threshold_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = pool->reserved_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = pool->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = pool->used_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = pool->used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolSetAttribute);
	SIM_TRY(pool_find(handle, &pool));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->threshold_bytes = *(cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(cuuint64_t *)value != 0)
			return CUDA_ERROR_INVALID_VALUE;
		if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
			pool->used_high = pool->used_bytes;
		else
			pool->reserved_high = pool->reserved_bytes;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptors, size_t count)
{
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolSetAccess);
	SIM_TRY(pool_find(handle, &pool));
	return descriptors && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
	struct sim_pool *pool;

	SIM_ENTER(cuMemPoolGetAccess);
	SIM_TRY(pool_find(handle, &pool));
	if (!flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}
