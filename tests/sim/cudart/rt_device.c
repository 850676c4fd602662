/* Devices of the simulated runtime. */
#include "tests/sim/cudart/rt.h"

#include <stdio.h>
#include <string.h>

#define RT_START()                                                                                                     \
	do {                                                                                                           \
		cudaError_t rt_started = rt_start();                                                                   \
		if (rt_started != cudaSuccess)                                                                         \
			return rt_result((CUresult)rt_started);                                                        \
	} while (0)

cudaError_t cudaGetDeviceCount(int *count)
{
	if (count)
		*count = 0;
	RT_START();
	return rt_result(rt.cuDeviceGetCount(count));
}

cudaError_t cudaGetDevice(int *ordinal)
{
	CUcontext current = NULL;

	RT_START();
	if (!ordinal)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	*ordinal = rt_device();
	if (rt.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current)
		return rt_result(rt.cuCtxGetDevice(ordinal));
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal)
{
	RT_START();
	return rt_result((CUresult)rt_device_set(ordinal));
}

cudaError_t cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags)
{
	RT_START();
	(void)device_flags, (void)flags;
	return rt_result((CUresult)rt_device_set(ordinal));
}

cudaError_t cudaDeviceReset(void)
{
	RT_START();
	return rt_result((CUresult)rt_device_reset());
}

cudaError_t cudaDeviceSynchronize(void)
{
	RT_ENTER();
	return rt_result(rt.cuCtxSynchronize());
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
	int active;

	RT_START();
	return rt_result(rt.cuDevicePrimaryCtxGetState(rt_device(), flags, &active));
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	RT_START();
	return rt_result(rt.cuDevicePrimaryCtxSetFlags(rt_device(), flags));
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal)
{
	RT_START();
	return rt_result(rt.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, ordinal));
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int ordinal)
{
	RT_START();
	return rt_result(rt.cuDeviceGetPCIBusId(id, length, ordinal));
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
	RT_START();
	return rt_result(rt.cuDeviceCanAccessPeer(can, ordinal, peer));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CUcontext context;
	CUresult result;

	RT_ENTER();
	result = rt.cuDevicePrimaryCtxRetain(&context, peer);
	return rt_result(result == CUDA_SUCCESS ? rt.cuCtxEnablePeerAccess(context, flags) : result);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context;
	CUresult result;

	RT_ENTER();
	result = rt.cuDevicePrimaryCtxRetain(&context, peer);
	return rt_result(result == CUDA_SUCCESS ? rt.cuCtxDisablePeerAccess(context) : result);
}

cudaError_t cudaProfilerStart(void)
{
	RT_ENTER();
	return rt_result(rt.cuProfilerStart());
}

cudaError_t cudaProfilerStop(void)
{
	RT_ENTER();
	return rt_result(rt.cuProfilerStop());
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	RT_ENTER();
	return rt_result(rt.cuCtxGetLimit(value, (CUlimit)limit));
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	RT_ENTER();
	return rt_result(rt.cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	RT_ENTER();
	return rt_result(rt.cuCtxGetStreamPriorityRange(least, greatest));
}

/*  X(field of cudaDeviceProp, in 12 and 13 alike, attribute) */
#define PROPERTIES(X)                                                                                                  \
	X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                                                       \
	X(warpSize, WARP_SIZE)                                                                                         \
	X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                                                   \
	X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                                                           \
	X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                                                           \
	X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                                                           \
	X(maxGridSize[0], MAX_GRID_DIM_X)                                                                              \
	X(maxGridSize[1], MAX_GRID_DIM_Y)                                                                              \
	X(maxGridSize[2], MAX_GRID_DIM_Z)                                                                              \
	X(major, COMPUTE_CAPABILITY_MAJOR)                                                                             \
	X(minor, COMPUTE_CAPABILITY_MINOR)                                                                             \
	X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                                                   \
	X(integrated, INTEGRATED)                                                                                      \
	X(canMapHostMemory, CAN_MAP_HOST_MEMORY)

/* Those that other fields follow in both layouts; the rest only where the layout is the header's. */
#define PROPERTIES_13(X)                                                                                               \
	X(concurrentKernels, CONCURRENT_KERNELS)                                                                       \
	X(pciBusID, PCI_BUS_ID)                                                                                        \
	X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                                                        \
	X(unifiedAddressing, UNIFIED_ADDRESSING)                                                                       \
	X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                                                     \
	X(l2CacheSize, L2_CACHE_SIZE)                                                                                  \
	X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                                                 \
	X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                                                      \
	X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                                                     \
	X(managedMemory, MANAGED_MEMORY)                                                                               \
	X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                                                       \
	X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                                                              \
	X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                                                   \
	X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                                                                \
	X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)

#if SIM_CUDART_MAJOR == 12
/* The head of the 12 layout, 1032 bytes in all; it differs from 13's after maxGridSize. */
struct device_prop {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	int clockRate;
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	int deviceOverlap;
	int multiProcessorCount;
	int kernelExecTimeoutEnabled;
	int integrated;
	int canMapHostMemory;
};
#define PROP_BYTES 1032
#define PROP_FUNCTION cudaGetDeviceProperties_v2
#define PROP_REST(X)
typedef void prop_param;
__attribute__((visibility("default"))) cudaError_t PROP_FUNCTION(prop_param *prop, int ordinal);
#else
#define device_prop cudaDeviceProp
#define PROP_BYTES sizeof(struct cudaDeviceProp)
#define PROP_FUNCTION cudaGetDeviceProperties
#define PROP_REST(X) PROPERTIES_13(X)
typedef struct cudaDeviceProp prop_param;
#endif

cudaError_t PROP_FUNCTION(prop_param *ret_prop, int ordinal)
{
	struct device_prop *prop = (struct device_prop *)ret_prop;
	CUresult result;
	int shared = 0;

	RT_START();
	if (!prop)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	memset(prop, 0, PROP_BYTES);
	result = rt.cuDeviceGetName(prop->name, sizeof(prop->name), ordinal);
	if (result != CUDA_SUCCESS)
		return rt_result(result);
	rt.cuDeviceGetUuid((CUuuid *)&prop->uuid, ordinal);
	rt.cuDeviceTotalMem(&prop->totalGlobalMem, ordinal);
#define PROP_FILL(field, attribute)                                                                                    \
	rt.cuDeviceGetAttribute((int *)&prop->field, CU_DEVICE_ATTRIBUTE_##attribute, ordinal);
	PROPERTIES(PROP_FILL)
	PROP_REST(PROP_FILL)
#undef PROP_FILL
	rt.cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, ordinal);
	prop->sharedMemPerBlock = (size_t)shared;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int ordinal)
{
	RT_START();
	return rt_result(rt.cuDeviceGetDefaultMemPool(pool, ordinal));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int ordinal)
{
	RT_START();
	return rt_result(rt.cuDeviceGetMemPool(pool, ordinal));
}

cudaError_t cudaDeviceSetMemPool(int ordinal, cudaMemPool_t pool)
{
	RT_START();
	return rt_result(rt.cuDeviceSetMemPool(ordinal, pool));
}
