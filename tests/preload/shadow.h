/* The runtime's allocations and frees, announced to the simulated driver (sim_shadow_owner, sim_shadow_free): it then
 * sees memory that the allocator under test hands out while work is still queued on it. Elsewhere plain calls.
 *
 * Work that gpushim has put off (submit:thread) is queued later than the program believes, which is no error. With
 * SHADOW_HANDED in the environment a call that all such work comes before is made ahead of each announcement. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "tests/sim/sim.h"

static inline void shadow_hand_over(void)
{
	cudaMemPool_t pool;

	if (getenv("SHADOW_HANDED"))
		cudaDeviceGetDefaultMemPool(&pool, 0);
}

static inline void shadow_owner(const void *memory, size_t size_bytes, void *stream)
{
	sim_shadow_owner_fn *owner;

	*(void **)&owner = sim_find("sim_shadow_owner");
	if (!owner || !memory || !size_bytes)
		return;
	shadow_hand_over();
	owner((uintptr_t)memory, size_bytes, stream);
}

static inline void shadow_end(const void *memory)
{
	sim_shadow_free_fn *end;

	*(void **)&end = sim_find("sim_shadow_free");
	if (!end || !memory)
		return;
	shadow_hand_over();
	end((uintptr_t)memory);
}

static inline unsigned long shadow_errors(void)
{
	sim_shadow_errors_fn *errors;

	*(void **)&errors = sim_find("sim_shadow_errors");
	return errors ? errors() : 0;
}

static inline cudaError_t shadow_malloc(void **memory, size_t size_bytes)
{
	cudaError_t error = cudaMalloc(memory, size_bytes);

	if (error == cudaSuccess)
		shadow_owner(*memory, size_bytes, SIM_SHADOW_ANY);
	return error;
}

static inline cudaError_t shadow_malloc_async(void **memory, size_t size_bytes, cudaStream_t stream)
{
	cudaError_t error = cudaMallocAsync(memory, size_bytes, stream);

	if (error == cudaSuccess)
		shadow_owner(*memory, size_bytes, stream);
	return error;
}

static inline cudaError_t shadow_malloc_from_pool_async(void **memory, size_t size_bytes, cudaMemPool_t pool,
							cudaStream_t stream)
{
	cudaError_t error = cudaMallocFromPoolAsync(memory, size_bytes, pool, stream);

	if (error == cudaSuccess)
		shadow_owner(*memory, size_bytes, stream);
	return error;
}

static inline cudaError_t shadow_free(void *memory)
{
	shadow_end(memory);
	return cudaFree(memory);
}

/* Pinned memory: the host is its next user, so nothing at all may be queued on it. */
static inline cudaError_t shadow_host_alloc(void **memory, size_t size_bytes, unsigned flags)
{
	cudaError_t error = cudaHostAlloc(memory, size_bytes, flags);

	if (error == cudaSuccess)
		shadow_owner(*memory, size_bytes, SIM_SHADOW_ANY);
	return error;
}

static inline cudaError_t shadow_free_host(void *memory)
{
	shadow_end(memory);
	return cudaFreeHost(memory);
}

static inline cudaError_t shadow_free_async(void *memory, cudaStream_t stream)
{
	shadow_end(memory);
	return cudaFreeAsync(memory, stream);
}

#endif
