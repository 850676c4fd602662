/* The backend cudaMallocAsync: see async.h. A tensor that other streams used is freed on a stream of its own, which
 * waits for all of them. */
#include "tests/sim/torch/async.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/preload/shadow.h"
#include "tests/sim/torch/cache.h"

struct tensor {
	void *memory;
	size_t size_bytes;
	cudaStream_t stream;
	cudaStream_t uses[CACHE_USES_MAX];
	unsigned use_count;
	struct tensor *next;
};

static struct tensor *tensors;
static cudaStream_t unifier;

static void init(void)
{
	cudaMemPool_t pool;
	uint64_t all = UINT64_MAX;
	int device;

	if (unifier != NULL)
		return;
	cache_need(cudaGetDevice(&device), "cudaGetDevice");
	cache_need(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
	cache_need(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
	cache_need(cudaStreamCreateWithFlags(&unifier, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

static struct tensor **find(const void *memory)
{
	struct tensor **link = &tensors;

	while (*link != NULL && (*link)->memory != memory)
		link = &(*link)->next;
	if (*link == NULL) {
		fprintf(stderr, "torch: %p is no tensor\n", memory);
		exit(9);
	}
	return link;
}

void *async_malloc(size_t size_bytes, cudaStream_t stream, struct torch_stats *stats)
{
	struct tensor *tensor = calloc(1, sizeof(*tensor));
	cudaError_t error;

	if (tensor == NULL)
		abort();
	init();
	*tensor = (struct tensor){.size_bytes = size_bytes, .stream = stream, .next = tensors};
	error = shadow_malloc_async(&tensor->memory, size_bytes, stream);
	if (error != cudaSuccess) {
		if (error != cudaErrorMemoryAllocation)
			cache_need(error, "cudaMallocAsync");
		(void)cudaGetLastError();
		stats->out_of_memory++;
		free(tensor);
		return NULL;
	}
	tensors = tensor;
	stats->tensors++;
	stats->allocated_bytes += size_bytes;
	stats->active_bytes += size_bytes;
	return tensor->memory;
}

static void join(cudaStream_t stream)
{
	cudaEvent_t event;

	cache_need(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
	cache_need(cudaEventRecord(event, stream), "cudaEventRecord");
	cache_need(cudaStreamWaitEvent(unifier, event, 0), "cudaStreamWaitEvent");
	cache_need(cudaEventDestroy(event), "cudaEventDestroy");
}

void async_free(void *memory, struct torch_stats *stats)
{
	struct tensor **link = find(memory);
	struct tensor *tensor = *link;

	*link = tensor->next;
	if (tensor->use_count > 0) {
		join(tensor->stream);
		for (unsigned i = 0; i < tensor->use_count; i++)
			join(tensor->uses[i]);
		tensor->stream = unifier;
	}
	cache_need(shadow_free_async(memory, tensor->stream), "cudaFreeAsync");
	stats->tensors--;
	stats->allocated_bytes -= tensor->size_bytes;
	stats->active_bytes -= tensor->size_bytes;
	free(tensor);
}

size_t async_bytes(const void *memory)
{
	return (*find(memory))->size_bytes;
}

void async_record_stream(void *memory, cudaStream_t stream)
{
	struct tensor *tensor = *find(memory);

	if (tensor->use_count < CACHE_USES_MAX)
		tensor->uses[tensor->use_count++] = stream;
}

static cudaMemPool_t default_pool(void)
{
	cudaMemPool_t pool;
	int device;

	cache_need(cudaGetDevice(&device), "cudaGetDevice");
	cache_need(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
	return pool;
}

void async_empty_cache(void)
{
	cache_need(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	cache_need(cudaMemPoolTrimTo(default_pool(), 0), "cudaMemPoolTrimTo");
}

uint64_t async_reserved_bytes(void)
{
	uint64_t bytes = 0;

	cache_need(cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrReservedMemCurrent, &bytes),
		   "cudaMemPoolGetAttribute");
	return bytes;
}
