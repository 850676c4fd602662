/* The runtime's calls with what they refuse: see bad_input.h. Each code is followed by the last error, if that is
 * another one. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#undef cuMemAllocHost_v2
#define cuMemAllocHost_v2 cudaMallocHost
#define cuMemFreeHost cudaFreeHost
#define cuMemGetInfo_v2 cudaMemGetInfo
#define cuCtxSynchronize cudaDeviceSynchronize
#define cuStreamCreate cudaStreamCreateWithFlags
#define cuStreamDestroy_v2 cudaStreamDestroy
#define cuStreamSynchronize cudaStreamSynchronize
#define cuMemsetD8_v2(block, value, size_bytes) cudaMemset((void *)(block), value, size_bytes)
#define cuMemcpyDtoH_v2(host, block, size_bytes) cudaMemcpy(host, (void *)(block), size_bytes, cudaMemcpyDeviceToHost)

static int with_last(cudaError_t error)
{
	cudaError_t last = cudaGetLastError();

	return last == error ? (int)error : (int)error * 1000 + (int)last;
}

#define bad_malloc(block, size_bytes) with_last(cudaMalloc((void **)(block), size_bytes))
#define bad_free(block) with_last(cudaFree((void *)(block)))
#define bad_malloc_async(block, size_bytes, stream) with_last(cudaMallocAsync((void **)(block), size_bytes, stream))
#define bad_free_async(block, stream) with_last(cudaFreeAsync((void *)(block), stream))

static void bad_use_device(int ordinal);
static int bad_device_of(CUdeviceptr block);

#include "tests/preload/bad_input.h"

static void bad_use_device(int ordinal)
{
	MUST(cudaSetDevice(ordinal));
}

static int bad_device_of(CUdeviceptr block)
{
	struct cudaPointerAttributes attributes;

	MUST(cudaPointerGetAttributes(&attributes, (void *)block));
	return attributes.device;
}

int main(int argc, char **argv)
{
	bad_use_device(0);
	return bad_input(argc, argv);
}
