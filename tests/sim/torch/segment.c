/* Segments: by cudaMalloc, or expandable: addresses for more than the device has, and handles mapped where needed.
 *
 * Of the driver PyTorch takes the functions for virtual memory from the runtime, by version. */
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "tests/sim/torch/cache.h"

struct cache_segment *cache_segments;

static struct {
	PFN_cuMemAddressReserve_v10020 reserve;
	PFN_cuMemAddressFree_v10020 unreserve;
	PFN_cuMemCreate_v10020 create;
	PFN_cuMemRelease_v10020 release;
	PFN_cuMemMap_v10020 map;
	PFN_cuMemUnmap_v10020 unmap;
	PFN_cuMemSetAccess_v10020 set_access;
} driver;

static void *driver_function(const char *name)
{
	enum cudaDriverEntryPointQueryResult found;
	void *function = NULL;

	cache_need(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), name);
	return function;
}

static void driver_init(void)
{
	if (driver.reserve != NULL)
		return;
	*(void **)&driver.unreserve = driver_function("cuMemAddressFree");
	*(void **)&driver.create = driver_function("cuMemCreate");
	*(void **)&driver.release = driver_function("cuMemRelease");
	*(void **)&driver.map = driver_function("cuMemMap");
	*(void **)&driver.unmap = driver_function("cuMemUnmap");
	*(void **)&driver.set_access = driver_function("cuMemSetAccess");
	*(void **)&driver.reserve = driver_function("cuMemAddressReserve");
}

static void need(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(9);
}

static struct cache_segment *segment_add(const struct cache_key *key, char *address, size_t size_bytes)
{
	struct cache_segment *segment = calloc(1, sizeof(*segment));
	struct cache_block *block = calloc(1, sizeof(*block));

	if (segment == NULL || block == NULL)
		abort();
	*segment = (struct cache_segment){
	    .key = *key, .address = address, .size_bytes = size_bytes, .first = block, .next = cache_segments};
	*block = (struct cache_block){.address = address, .size_bytes = size_bytes, .segment = segment};
	cache_segments = segment;
	return segment;
}

static size_t segment_bytes(const struct cache_key *key, size_t size_bytes)
{
	if (key->small)
		return CACHE_SMALL_SEGMENT_BYTES;
	if (size_bytes < CACHE_LARGE_SEGMENT_LIMIT_BYTES)
		return CACHE_LARGE_SEGMENT_BYTES;
	return (size_bytes + CACHE_SMALL_SEGMENT_BYTES - 1) / CACHE_SMALL_SEGMENT_BYTES * CACHE_SMALL_SEGMENT_BYTES;
}

static struct cache_block *plain_new(const struct cache_key *key, size_t size_bytes)
{
	struct cache_segment *segment;
	void *address = NULL;
	cudaError_t error;

	size_bytes = segment_bytes(key, size_bytes);
	error = cudaMalloc(&address, size_bytes);
	if (error == cudaErrorMemoryAllocation) {
		(void)cudaGetLastError();
		return NULL;
	}
	cache_need(error, "cudaMalloc");
	segment = segment_add(key, address, size_bytes);
	segment->mapped_bytes = size_bytes;
	segment->first->mapped = true;
	return segment->first;
}

static struct cache_segment *expandable_for(const struct cache_key *key)
{
	struct cache_segment *segment = cache_segments;
	size_t free_bytes, total_bytes;
	CUdeviceptr address = 0;

	for (; segment != NULL; segment = segment->next)
		if (segment->key.device == key->device && segment->key.pool == key->pool &&
		    segment->key.small == key->small && segment->key.stream == key->stream)
			return segment;
	cache_need(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
	total_bytes = (total_bytes * 9 / 8 / CACHE_LARGE_SEGMENT_BYTES + 1) * CACHE_LARGE_SEGMENT_BYTES;
	need(driver.reserve(&address, total_bytes, 0, 0, 0), "cuMemAddressReserve");
	segment = segment_add(key, (char *)(uintptr_t)address, total_bytes);
	segment->handle_bytes = key->small ? CACHE_SMALL_SEGMENT_BYTES : CACHE_LARGE_SEGMENT_BYTES;
	segment->handles = calloc(total_bytes / segment->handle_bytes, sizeof(*segment->handles));
	if (segment->handles == NULL)
		abort();
	return segment;
}

static size_t handle_index(const struct cache_segment *segment, const char *address)
{
	return (size_t)(address - segment->address) / segment->handle_bytes;
}

/* All `count` handles from `first` on, or none. */
static bool handles_map(struct cache_segment *segment, size_t first, size_t count)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = segment->key.device}};
	CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = (CUdeviceptr)(uintptr_t)segment->address + first * segment->handle_bytes;

	for (size_t i = 0; i < count; i++) {
		CUmemGenericAllocationHandle handle;
		CUresult result = driver.create(&handle, segment->handle_bytes, &properties, 0);

		if (result == CUDA_SUCCESS) {
			segment->handles[first + i] = handle;
			continue;
		}
		if (result != CUDA_ERROR_OUT_OF_MEMORY)
			need(result, "cuMemCreate");
		while (i-- > 0) {
			need(driver.release(segment->handles[first + i]), "cuMemRelease");
			segment->handles[first + i] = 0;
		}
		return false;
	}
	for (size_t i = 0; i < count; i++)
		need(driver.map(address + i * segment->handle_bytes, segment->handle_bytes, 0,
				segment->handles[first + i], 0),
		     "cuMemMap");
	need(driver.set_access(address, count * segment->handle_bytes, &access, 1), "cuMemSetAccess");
	segment->mapped_bytes += count * segment->handle_bytes;
	return true;
}

static bool is_idle(const struct cache_block *block)
{
	return !block->allocated && block->events == 0 && block->use_count == 0;
}

/* Maps as much after the free block, or of this one which is not mapped, as makes size_bytes. NULL: out of memory. */
static struct cache_block *expand(struct cache_block *block, size_t size_bytes)
{
	struct cache_segment *segment = block->segment;

	while (!block->mapped || block->size_bytes < size_bytes) {
		struct cache_block *hole = block->mapped ? block->next : block;
		size_t lack_bytes = block->mapped ? size_bytes - block->size_bytes : size_bytes;
		size_t count;

		if (lack_bytes > hole->size_bytes)
			lack_bytes = hole->size_bytes;
		count = (lack_bytes + segment->handle_bytes - 1) / segment->handle_bytes;
		if (!handles_map(segment, handle_index(segment, hole->address), count))
			return NULL;
		if (count * segment->handle_bytes < hole->size_bytes)
			block_cut(hole, count * segment->handle_bytes);
		hole->mapped = true;
		block = block_merge(hole);
	}
	return block;
}

static struct cache_block *expandable_serve(const struct cache_key *key, size_t size_bytes)
{
	struct cache_segment *segment;

	driver_init();
	segment = expandable_for(key);
	for (struct cache_block *block = segment->first; block != NULL; block = block->next) {
		size_t bytes = 0;

		for (struct cache_block *next = block; next != NULL && is_idle(next) && bytes < size_bytes;
		     next = next->next)
			bytes += next->size_bytes;
		if (bytes >= size_bytes)
			return expand(block, size_bytes);
	}
	return NULL;
}

/* In relaxed mode, as a capture may be open. */
struct cache_block *segment_serve(const struct cache_key *key, size_t size_bytes)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	struct cache_block *block;

	cache_need(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
	block = segments_expandable() ? expandable_serve(key, size_bytes) : plain_new(key, size_bytes);
	cache_need(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
	return block;
}

/* Unlike cudaFree, unmapping waits for nothing. */
static struct cache_block *unmap_within(struct cache_block *block)
{
	struct cache_segment *segment = block->segment;
	size_t first =
	    (size_t)(block->address - segment->address + (ptrdiff_t)segment->handle_bytes - 1) / segment->handle_bytes;
	size_t last =
	    (size_t)(block->address - segment->address + (ptrdiff_t)block->size_bytes) / segment->handle_bytes;
	char *start = segment->address + first * segment->handle_bytes;
	size_t bytes;

	if (!is_idle(block) || !block->mapped || last <= first)
		return block;
	cache_need(cudaStreamSynchronize(segment->key.stream), "cudaStreamSynchronize");
	bytes = (last - first) * segment->handle_bytes;
	for (size_t i = first; i < last; i++) {
		need(driver.unmap((CUdeviceptr)(uintptr_t)segment->address + i * segment->handle_bytes,
				  segment->handle_bytes),
		     "cuMemUnmap");
		need(driver.release(segment->handles[i]), "cuMemRelease");
		segment->handles[i] = 0;
	}
	segment->mapped_bytes -= bytes;
	if (start > block->address)
		block = block_cut(block, (size_t)(start - block->address));
	if (bytes < block->size_bytes)
		block_cut(block, bytes);
	block->mapped = false;
	return block_merge(block);
}

/* True when the segment is gone. */
static bool segment_release(struct cache_segment *segment)
{
	struct cache_block *block = segment->first;

	if (segment->handle_bytes != 0)
		for (; block != NULL; block = block->next)
			block = unmap_within(block);
	block = segment->first;
	if (block->next != NULL || !is_idle(block))
		return false;
	if (segment->handle_bytes == 0) {
		cudaError_t error = cudaFree(segment->address);

		cache_need(error, "cudaFree");
	} else {
		need(driver.unreserve((CUdeviceptr)(uintptr_t)segment->address, segment->size_bytes),
		     "cuMemAddressFree");
		free(segment->handles);
	}
	free(block);
	return true;
}

void segments_release(void)
{
	struct cache_segment **link = &cache_segments;

	while (*link != NULL) {
		struct cache_segment *segment = *link;

		if (!pools_may_release(segment->key.pool) || !segment_release(segment)) {
			link = &segment->next;
			continue;
		}
		*link = segment->next;
		free(segment);
	}
}
