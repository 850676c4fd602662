/* The backend cudaMallocAsync: no cache, every tensor is the driver's. The lock of cache.c is held. */
#ifndef ASYNC_H
#define ASYNC_H

#include "tests/sim/torch/torch.h"

void *async_malloc(size_t size_bytes, cudaStream_t stream, struct torch_stats *stats);
void async_free(void *memory, struct torch_stats *stats);
size_t async_bytes(const void *memory);
void async_record_stream(void *memory, cudaStream_t stream);
void async_empty_cache(void);
uint64_t async_reserved_bytes(void);

#endif
