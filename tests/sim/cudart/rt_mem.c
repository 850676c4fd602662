/* Memory of the simulated runtime: allocation, pools, pointers. */
#include "tests/sim/cudart/rt.h"

#include <string.h>

#define DEVICE(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* Nothing allocated for size 0, and no error. */
cudaError_t cudaMalloc(void **pointer, size_t size)
{
	RT_ENTER();
	if (pointer && size == 0) {
		*pointer = NULL;
		return cudaSuccess;
	}
	return rt_result(rt.cuMemAlloc((CUdeviceptr *)pointer, size));
}

cudaError_t cudaFree(void *pointer)
{
	RT_ENTER();
	return pointer ? rt_result(rt.cuMemFree(DEVICE(pointer))) : cudaSuccess;
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	RT_ENTER();
	return rt_result(rt.cuMemAllocPitch((CUdeviceptr *)pointer, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
	CUdeviceptr pointer;
	size_t pitch;
	CUresult result;

	RT_ENTER();
	if (!pitched)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	result = rt.cuMemAllocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth, 4);
	if (result == CUDA_SUCCESS)
		*pitched = (struct cudaPitchedPtr){(void *)(uintptr_t)pointer, pitch, extent.width, extent.height};
	return rt_result(result);
}

cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuMemAllocManaged((CUdeviceptr *)pointer, size, flags));
}

cudaError_t cudaMallocHost(void **pointer, size_t size)
{
	RT_ENTER();
	return rt_result(rt.cuMemAllocHost(pointer, size));
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuMemHostAlloc(pointer, size, flags));
}

cudaError_t cudaFreeHost(void *pointer)
{
	RT_ENTER();
	return pointer ? rt_result(rt.cuMemFreeHost(pointer)) : cudaSuccess;
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuMemHostRegister(pointer, size, flags));
}

cudaError_t cudaHostUnregister(void *pointer)
{
	RT_ENTER();
	return rt_result(rt.cuMemHostUnregister(pointer));
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuMemHostGetDevicePointer((CUdeviceptr *)device, host, flags));
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
	RT_ENTER();
	return rt_result(rt.cuMemHostGetFlags(flags, host));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	RT_ENTER();
	return rt_result(rt.cuMemGetInfo(free, total));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
				       CU_POINTER_ATTRIBUTE_HOST_POINTER};
	unsigned type = 0, managed = 0;
	int ordinal = -2;
	void *device = NULL, *host = NULL;
	void *answers[] = {&type, &managed, &ordinal, &device, &host};
	CUresult result;

	RT_ENTER();
	if (!attributes)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	result = rt.cuPointerGetAttributes(5, asked, answers, DEVICE(pointer));
	if (result != CUDA_SUCCESS)
		return rt_result(result);
	*attributes = (struct cudaPointerAttributes){
	    .type = managed			   ? cudaMemoryTypeManaged
		    : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
		    : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
						   : cudaMemoryTypeUnregistered,
	    .device = ordinal,
	    .devicePointer = device,
	    .hostPointer = type ? host : (void *)(uintptr_t)pointer,
	};
	return cudaSuccess;
}

RT_TWIN(cudaMallocAsync, _ptsz, (void **pointer, size_t size, cudaStream_t stream), (pointer, size, stream))
{
	if (pointer && size == 0) {
		*pointer = NULL;
		return cudaSuccess;
	}
	return rt_result(d->cuMemAllocAsync((CUdeviceptr *)pointer, size, stream));
}

RT_TWIN(cudaMallocFromPoolAsync, _ptsz, (void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream),
	(pointer, size, pool, stream))
{
	return rt_result(d->cuMemAllocFromPoolAsync((CUdeviceptr *)pointer, size, pool, stream));
}

RT_TWIN(cudaFreeAsync, _ptsz, (void *pointer, cudaStream_t stream), (pointer, stream))
{
	return pointer ? rt_result(d->cuMemFreeAsync(DEVICE(pointer), stream)) : cudaSuccess;
}

/* cudaMemPoolProps, cudaMemAccessDesc and the attribute enum have the driver's layouts and values. */
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolCreate(pool, (const CUmemPoolProps *)props));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolTrimTo(pool, keep));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *descriptors, size_t count)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)descriptors, count));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location)
{
	RT_ENTER();
	return rt_result(rt.cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location));
}

/* The handles of the runtime and the driver are the same 64 bytes. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
	RT_ENTER();
	return rt_result(rt.cuIpcGetMemHandle((CUipcMemHandle *)handle, DEVICE(pointer)));
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags)
{
	CUipcMemHandle same;

	RT_ENTER();
	memcpy(&same, &handle, sizeof(same));
	return rt_result(rt.cuIpcOpenMemHandle((CUdeviceptr *)pointer, same, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
	RT_ENTER();
	return rt_result(rt.cuIpcCloseMemHandle(DEVICE(pointer)));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle same;

	RT_ENTER();
	memcpy(&same, &handle, sizeof(same));
	return rt_result(rt.cuIpcOpenEventHandle(event, same));
}
