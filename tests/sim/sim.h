/* What the simulated driver offers to test programs beyond CUDA itself.
 *
 * Everything is looked up at run time, so that a program that uses it also runs on a real driver: there sim_find
 * returns NULL and sim_is_real() is true. Programs that need simulated kernels skip themselves then. */
#ifndef SIM_H
#define SIM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One launch as a kernel function sees it. params[i] points to the value of the i-th parameter; the values are a
 * copy made at the launch. Device pointers can be used as they are: device memory lies in this address space. */
struct sim_launch {
	unsigned grid[3];
	unsigned block[3];
	unsigned shared_bytes;
	unsigned param_count;
	void *const *params;
};

/* A kernel: runs once for the whole grid, at the moment the simulated stream gets to it. */
typedef void (*sim_kernel_fn)(const struct sim_launch *launch);

/* Makes a kernel known under a name; any module contains it. Built in, and known to every module:
 *   sim_fill(u32 *dst, u32 value, u64 count)               dst[i] = value
 *   sim_add(u32 *dst, const u32 *src, u64 count)           dst[i] += src[i]
 *   sim_verify(const u32 *src, u32 value, u64 count, u32 *errors)   *errors += number of i with src[i] != value
 *   sim_delay(u32 steps)                                   takes that many steps of the simulated device
 *   sim_fail(u32 code)                                     ends in that CUresult, which breaks its context; 0: does not */
typedef void sim_kernel_register_fn(const char *name, sim_kernel_fn fn, unsigned param_count,
				    const size_t *param_sizes);

/* Calls of a driver function since the program started, by exported symbol ("cuMemAlloc_v2"). */
typedef unsigned long sim_calls_fn(const char *function);

/* Driver calls, and queued operations that have run to their end, since the program started. */
typedef unsigned long sim_operations_fn(void);

/* The nth call from now (1 = the next) of a driver function fails with this CUresult, once. nth 0 disarms. An illegal
 * address (700) also breaks the context that is current. */
typedef void sim_fault_arm_fn(const char *function, unsigned nth, int code);

/* How often the armed faults of that function have fired. */
typedef unsigned sim_fault_fired_fn(const char *function);

/* Called by the thread whose driver call fails, just before it does; must not call the driver. */
typedef void sim_fault_watch_fn(void (*watch)(const char *function));

/* Likewise for every driver call. */
typedef void sim_call_watch_fn(void (*watch)(const char *function));

/* How many of these the driver holds now: handles of all contexts, ranges of memory of any kind (mappings too),
 * reservations of addresses. */
enum sim_held_kind {
	SIM_HELD_STREAMS,
	SIM_HELD_EVENTS,
	SIM_HELD_POOLS,
	SIM_HELD_GRAPHS,
	SIM_HELD_PHYSICAL,
	SIM_HELD_RANGES,
	SIM_HELD_RESERVATIONS,
	SIM_HELD_KINDS
};
typedef size_t sim_held_fn(enum sim_held_kind kind);

/* In the simulated runtime: the kernel that a host function stands for. */
typedef void sim_cudart_register_fn(const void *host, const char *name);

/* Exported by the simulated runtime: how many of its calls that want a context were entered so far. */
typedef unsigned long sim_cudart_entries_fn(void);

/* A new owner of those bytes of device or pinned host memory: what an allocation returned, announced before it is used.
 * `stream` is the CUstream that may use it first, SIM_SHADOW_ANY where any stream may (cudaMalloc) or the host
 * (cudaHostAlloc). Work that is still queued on the bytes and not proven to come before that is an error: one line on
 * stderr, and two stacks. A program that announces one block of an allocator announces all. tests/preload/shadow.h wraps the runtime's calls. */
typedef void sim_shadow_owner_fn(uintptr_t address, size_t size_bytes, void *stream);
#define SIM_SHADOW_ANY ((void *)-1)

/* The owner is about to be freed: work queued on it from now on is an error, when it runs. */
typedef void sim_shadow_free_fn(uintptr_t address);

/* Errors so far. A process that had any ends with this status, whatever it returned. SIM_SHADOW=off: none. */
typedef unsigned long sim_shadow_errors_fn(void);
#define SIM_SHADOW_STATUS 86

static inline void *sim_find(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);
	void *driver = found ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (driver) {
		found = dlsym(driver, symbol);
		dlclose(driver);
	}
	return found;
}

/* True on a real driver. Meaningful once the program has made its first CUDA call. */
static inline bool sim_is_real(void)
{
	return sim_find("sim_calls") == NULL;
}

#endif
