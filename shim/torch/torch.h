/* PyTorch: its caching allocators seen from below.
 *
 * observe: PyTorch's allocator stays. It reports every tensor to the exported function
 *   c10::reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, c10::Device)
 * whether a profiler runs or not; the shim exports that symbol, notes the tensor and calls the real one. What others
 * than libc10_cuda report there is none of its tensors. Its segments
 * (cudaMalloc called from libc10_cuda) are driver allocations of their own that we hold for it: no second cache.
 * serve: the backend cudaMallocAsync is chosen in PyTorch's own setting before PyTorch reads it, so that every tensor
 * is a cudaMallocAsync that we serve. off: neither. */
#ifndef GS_TORCH_TORCH_H
#define GS_TORCH_TORCH_H

#include <stdbool.h>
#include <stdint.h>

/* True when the code at this address belongs to PyTorch's CUDA allocators. */
bool gs_torch_is_caller(const void *caller);

/* PyTorch was refused this much. False for the first time: it then gives back what it caches and asks once more; true
 * when that was refused too. gs_torch_served comes between two requests. */
bool gs_torch_gives_up(uint64_t size_bytes);
void gs_torch_served(void);

/* torch:serve, in the constructor: adds the backend to PyTorch's setting, unless the user chose one. Calls setenv. */
void gs_torch_serve(void);

#endif
