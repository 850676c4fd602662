/* The simulated runtime in terms of the driver: how it finds it, its per-thread state, its error convention.
 *
 * Like the real one it reaches the driver through dlopen("libcuda.so.1"), one dlsym for cuGetProcAddress_v2, and
 * cuGetProcAddress_v2 for everything else, so that what stands between a real runtime and the driver stands here too.
 * Compiled twice, with SIM_CUDART_MAJOR 12 and 13. Runtime error codes are the driver's. */
#ifndef SIM_RT_H
#define SIM_RT_H

/* Signatures that differ between 12 and 13 have no prototype here in the 12 build (rt_capture.c defines them). */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cudaProfilerTypedefs.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <stdbool.h>

struct rt_driver {
#define RT_DRIVER(name, version) PFN_##name##_v##version name;
#define RT_STREAMED(name, version, twin)
#include "tests/sim/cudart/rt_driver.def"
#undef RT_DRIVER
#undef RT_STREAMED
};

/* The functions that take a stream, or use the default one: rt_streamed[0] legacy, rt_streamed[1] per thread. */
struct rt_streamed {
#define RT_DRIVER(name, version)
#define RT_STREAMED(name, version, twin) PFN_##name##_v##version name;
#include "tests/sim/cudart/rt_driver.def"
#undef RT_DRIVER
#undef RT_STREAMED
};

extern struct rt_driver rt;
extern struct rt_streamed rt_streamed[2];

/* Finds the driver; cudaErrorInsufficientDriver, or what cuInit answers. */
cudaError_t rt_start(void);

/* rt_start, and a current context: the primary one of the thread's device unless the program set another. */
cudaError_t rt_enter(void);

/* cuGetProcAddress_v2 itself; NULL before rt_start succeeded. */
PFN_cuGetProcAddress_v12000 rt_proc_address(void);

/* The device that the thread chose, and the ways to change it. */
int rt_device(void);
cudaError_t rt_device_set(int ordinal);
cudaError_t rt_device_reset(void);

/* Remembers a failure for cudaGetLastError and returns it. */
cudaError_t rt_result(CUresult result);

/* What the driver launches for a host function, or for a handle that the program got from us. */
cudaError_t rt_launch_handle(const void *host, CUfunction *ret_handle);

/* The driver's structure for a copy between pitched memory; arrays are CUDA_ERROR_NOT_SUPPORTED. */
CUresult rt_copy_3d(CUDA_MEMCPY3D *ret_shape, const struct cudaMemcpy3DParms *p);

/* First line of every function that needs a context. */
#define RT_ENTER()                                                                                                     \
	do {                                                                                                           \
		cudaError_t rt_entered = rt_enter();                                                                   \
		if (rt_entered != cudaSuccess)                                                                         \
			return rt_result((CUresult)rt_entered);                                                        \
	} while (0)

#define RT_UNPAREN(...) __VA_ARGS__

/* A function and its per-thread twin with one body, which calls the driver through `d`. */
#define RT_TWIN(name, suffix, params, args)                                                                            \
	static cudaError_t name##_body(const struct rt_streamed *d, RT_UNPAREN params);                                \
	cudaError_t name params                                                                                        \
	{                                                                                                              \
		RT_ENTER();                                                                                            \
		return name##_body(&rt_streamed[0], RT_UNPAREN args);                                                  \
	}                                                                                                              \
	cudaError_t name##suffix params;                                                                               \
	__attribute__((visibility("default"))) cudaError_t name##suffix params                                         \
	{                                                                                                              \
		RT_ENTER();                                                                                            \
		return name##_body(&rt_streamed[1], RT_UNPAREN args);                                                  \
	}                                                                                                              \
	static cudaError_t name##_body(const struct rt_streamed *d, RT_UNPAREN params)

#endif
