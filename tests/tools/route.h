/* The ways on which a replay gets memory and gives it back: the runtime's stream-ordered calls, its plain ones,
 * PyTorch's caching allocator without Python, by the C functions that PyTorch exports for compiled models, and none: no
 * memory at all. */
#ifndef ROUTE_H
#define ROUTE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

struct route {
	const char *name;
	bool frees_on_any_stream;

	/* Once, after CUDA has started on device 0. NULL, or why this way is not open here. */
	const char *(*prepare)(void);
	bool (*alloc)(void **ret_address, size_t size_bytes, cudaStream_t stream);
	bool (*free)(void *address, cudaStream_t stream);
};

/* NULL: no such way. */
const struct route *route_find(const char *name);

#endif
