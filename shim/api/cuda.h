/* The CUDA headers, in the one way that the table needs them.
 *
 * __CUDA_API_VERSION_INTERNAL turns off the macros that rename functions (cuMemAlloc -> cuMemAlloc_v2), and declares
 * the older versions and the per-thread-stream twins. Every file of ours that sees CUDA includes this header and no
 * CUDA header directly. */
#ifndef GS_API_CUDA_H
#define GS_API_CUDA_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

/* nvcc 13 compiles <<<>>> into this; crt/device_functions.h has its C++ declaration. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
			       cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
				    cudaStream_t stream);

/* The table has rows for functions that the runtime's header calls deprecated: programs still use them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define GS_EXPORT __attribute__((visibility("default")))

#endif
