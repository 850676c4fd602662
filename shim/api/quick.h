/* Runtime calls that are answered at the door, without the runtime: cudaMalloc, cudaFree, cudaMallocAsync and
 * cudaFreeAsync, when memory that is held serves them; and cudaGetDevice.
 *
 * A runtime that is entered looks after its own state (a device to choose, a context to make current), tells profilers,
 * and calls the driver; then it returns what the driver said. It is left out only where it would do nothing else, which
 * is learned for each thread: the same call through the same runtime went straight from it to our driver entry, was served and
 * succeeded, in the context that is still current (H5, H21, H26). A success leaves no mark in the runtime; whatever else
 * may come of a call, also a miss, is left to it. */
#ifndef GS_API_QUICK_H
#define GS_API_QUICK_H

#include <stdbool.h>

#include "shim/api/call.h"
#include "shim/api/runtime.h"

enum gs_quick_kind {
	GS_QUICK_cudaMalloc,
	GS_QUICK_cudaFree,
	GS_QUICK_cudaMallocAsync,
	GS_QUICK_cudaMallocAsync_ptsz,
	GS_QUICK_cudaFreeAsync,
	GS_QUICK_cudaFreeAsync_ptsz
};

/* For the rows of runtime.def that say QUICK: true when the call was answered, with success. */
bool gs_quick_cudaMalloc(const void *caller, void **devPtr, size_t size);
bool gs_quick_cudaFree(const void *caller, void *devPtr);
bool gs_quick_cudaMallocAsync(const void *caller, void **devPtr, size_t size, cudaStream_t hStream);
bool gs_quick_cudaMallocAsync_ptsz(const void *caller, void **devPtr, size_t size, cudaStream_t hStream);
bool gs_quick_cudaFreeAsync(const void *caller, void *devPtr, cudaStream_t hStream);
bool gs_quick_cudaFreeAsync_ptsz(const void *caller, void *devPtr, cudaStream_t hStream);

/* Around such a call where the runtime is entered. */
static inline void gs_quick_entering(void)
{
	gs_thread.served_from = NULL;
}

void gs_quick_left(const struct gs_runtime *real, enum gs_quick_kind kind, cudaError_t result);

/* For the row of cudaGetDevice, which PyTorch calls a dozen times a launch. From CUDA 12.0 on the runtime makes a context current
 * as soon as a device is chosen, so that what it said once holds while the same context is current. */
bool gs_quick_device(const struct gs_runtime *real, int *device);
void gs_quick_device_left(const struct gs_runtime *real, cudaError_t result, const int *device);

/* Somebody wants to see the runtime's calls: from now on all of them enter it (H22). */
void gs_quick_stop(void);

#endif
