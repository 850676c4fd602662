/* A stand-in for PyTorch's memory: what programs call of it.
 *
 * libc10.so has the function that hears of every tensor, under both of its manglings, and an allocator of host memory
 * that reports there too. libc10_cuda.so has the caching allocators of device memory in miniature, which behave towards
 * CUDA as PyTorch's do: segments of 2 and 20 MiB and larger, by cudaMalloc or as expandable segments; a small and a
 * large pool per device and stream, best fit, split and merge; uses on other streams by events; private pools for
 * captures; giving everything back and trying once more when memory is short; or cudaMallocAsync for each tensor. It is
 * built twice, for the two manglings that it may call.
 *
 * PYTORCH_ALLOC_CONF, or PYTORCH_CUDA_ALLOC_CONF if that is not set, is read at the first call:
 * expandable_segments:True, backend:cudaMallocAsync; other settings are passed over. All functions are thread-safe and
 * work on the current device. Every block outside private pools is announced to the simulated driver. */
#ifndef TORCH_H
#define TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

/* c10::Device: two bytes, passed by value in a register. */
struct c10_device {
	int8_t type; /* 0 = CPU, 1 = CUDA */
	int8_t index;
};

typedef void c10_report_fn(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
			   struct c10_device device);

/* c10::reportMemoryUsageToProfiler: the totals are size_t today and were int64_t in older versions. */
#define C10_REPORT_UNSIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define C10_REPORT_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"

/* What c10's two functions heard, [0] unsigned and [1] signed; exported as c10_heard. */
struct c10_heard {
	unsigned long calls;
	int64_t live_bytes; /* on CUDA devices */
};

/* libc10.so: a tensor on the host. */
typedef void *c10_cpu_malloc_fn(size_t size_bytes);
typedef void c10_cpu_free_fn(void *memory, size_t size_bytes);

struct torch_stats {
	uint64_t allocated_bytes; /* of tensors */
	uint64_t active_bytes;	  /* and of those that wait for other streams */
	uint64_t reserved_bytes;  /* of segments */
	uint64_t tensors;	  /* alive */
	uint64_t segments;
	uint64_t retries;	/* cache given back because memory was short */
	uint64_t out_of_memory; /* times that even this did not help */
};

/* libc10_cuda.so: type, name, parameters. The bytes of a tensor are those of its block, which is what is reported. */
#define TORCH_FUNCTIONS(X)                                                                                             \
	X(void *, torch_malloc, (size_t size_bytes, cudaStream_t stream)) /* NULL: out of memory */                    \
	X(void, torch_free, (void *memory))                                                                            \
	X(size_t, torch_bytes, (const void *memory))                                                                   \
	X(void, torch_record_stream, (void *memory, cudaStream_t stream))                                              \
	X(void, torch_empty_cache, (void))                                                                             \
	X(void, torch_read_stats, (struct torch_stats * stats))                                                        \
	X(void, torch_pool_begin, (unsigned pool, cudaStream_t stream)) /* the stream's memory is from that pool .. */ \
	X(void, torch_pool_end, (unsigned pool))			/* .. until here */                            \
	X(void, torch_pool_release, (unsigned pool)) /* as often as begun, then it can be given back */

#endif
