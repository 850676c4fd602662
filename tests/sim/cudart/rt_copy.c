/* Copies and memsets of the simulated runtime. */
#include "tests/sim/cudart/rt.h"

#define DEVICE(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

RT_TWIN(cudaMemcpy, _ptds, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	(dst, src, count, kind))
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_result(d->cuMemcpyHtoD(DEVICE(dst), src, count));
	case cudaMemcpyDeviceToHost:
		return rt_result(d->cuMemcpyDtoH(dst, DEVICE(src), count));
	case cudaMemcpyDeviceToDevice:
		return rt_result(d->cuMemcpyDtoD(DEVICE(dst), DEVICE(src), count));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return rt_result(d->cuMemcpy(DEVICE(dst), DEVICE(src), count));
	default:
		return rt_result((CUresult)cudaErrorInvalidMemcpyDirection);
	}
}

RT_TWIN(cudaMemcpyAsync, _ptsz,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, src, count, kind, stream))
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_result(d->cuMemcpyHtoDAsync(DEVICE(dst), src, count, stream));
	case cudaMemcpyDeviceToHost:
		return rt_result(d->cuMemcpyDtoHAsync(dst, DEVICE(src), count, stream));
	case cudaMemcpyDeviceToDevice:
		return rt_result(d->cuMemcpyDtoDAsync(DEVICE(dst), DEVICE(src), count, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return rt_result(d->cuMemcpyAsync(DEVICE(dst), DEVICE(src), count, stream));
	default:
		return rt_result((CUresult)cudaErrorInvalidMemcpyDirection);
	}
}

static bool shape_2d(CUDA_MEMCPY2D *shape, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		     size_t height)
{
	*shape = (CUDA_MEMCPY2D){
	    .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
	    .srcDevice = DEVICE(src),
	    .srcPitch = src_pitch,
	    .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
	    .dstDevice = DEVICE(dst),
	    .dstPitch = dst_pitch,
	    .WidthInBytes = width,
	    .Height = height,
	};
	return width <= dst_pitch && width <= src_pitch;
}

RT_TWIN(cudaMemcpy2D, _ptds,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind),
	(dst, dst_pitch, src, src_pitch, width, height, kind))
{
	CUDA_MEMCPY2D shape;

	(void)kind;
	if (!shape_2d(&shape, dst, dst_pitch, src, src_pitch, width, height))
		return rt_result((CUresult)cudaErrorInvalidPitchValue);
	return rt_result(d->cuMemcpy2DUnaligned(&shape));
}

RT_TWIN(cudaMemcpy2DAsync, _ptsz,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, dst_pitch, src, src_pitch, width, height, kind, stream))
{
	CUDA_MEMCPY2D shape;

	(void)kind;
	if (!shape_2d(&shape, dst, dst_pitch, src, src_pitch, width, height))
		return rt_result((CUresult)cudaErrorInvalidPitchValue);
	return rt_result(d->cuMemcpy2DAsync(&shape, stream));
}

/* Pitched memory on both sides; arrays are not simulated. */
CUresult rt_copy_3d(CUDA_MEMCPY3D *shape, const struct cudaMemcpy3DParms *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->srcArray || p->dstArray)
		return CUDA_ERROR_NOT_SUPPORTED;
	*shape = (CUDA_MEMCPY3D){
	    .srcXInBytes = p->srcPos.x,
	    .srcY = p->srcPos.y,
	    .srcZ = p->srcPos.z,
	    .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
	    .srcDevice = DEVICE(p->srcPtr.ptr),
	    .srcPitch = p->srcPtr.pitch,
	    .srcHeight = p->srcPtr.ysize,
	    .dstXInBytes = p->dstPos.x,
	    .dstY = p->dstPos.y,
	    .dstZ = p->dstPos.z,
	    .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
	    .dstDevice = DEVICE(p->dstPtr.ptr),
	    .dstPitch = p->dstPtr.pitch,
	    .dstHeight = p->dstPtr.ysize,
	    .WidthInBytes = p->extent.width,
	    .Height = p->extent.height,
	    .Depth = p->extent.depth,
	};
	return CUDA_SUCCESS;
}

RT_TWIN(cudaMemcpy3D, _ptds, (const struct cudaMemcpy3DParms *p), (p))
{
	CUDA_MEMCPY3D shape;
	CUresult result = rt_copy_3d(&shape, p);

	return rt_result(result == CUDA_SUCCESS ? d->cuMemcpy3D(&shape) : result);
}

RT_TWIN(cudaMemcpy3DAsync, _ptsz, (const struct cudaMemcpy3DParms *p, cudaStream_t stream), (p, stream))
{
	CUDA_MEMCPY3D shape;
	CUresult result = rt_copy_3d(&shape, p);

	return rt_result(result == CUDA_SUCCESS ? d->cuMemcpy3DAsync(&shape, stream) : result);
}

static CUresult peer_contexts(int dst_device, CUcontext *dst, int src_device, CUcontext *src)
{
	CUresult result = rt.cuDevicePrimaryCtxRetain(dst, dst_device);

	return result == CUDA_SUCCESS ? rt.cuDevicePrimaryCtxRetain(src, src_device) : result;
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t count)
{
	CUcontext to, from;
	CUresult result;

	RT_ENTER();
	result = peer_contexts(dst_device, &to, src_device, &from);
	if (result == CUDA_SUCCESS)
		result = rt_streamed[0].cuMemcpyPeer(DEVICE(dst), to, DEVICE(src), from, count);
	return rt_result(result);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t count,
				cudaStream_t stream)
{
	CUcontext to, from;
	CUresult result;

	RT_ENTER();
	result = peer_contexts(dst_device, &to, src_device, &from);
	if (result == CUDA_SUCCESS)
		result = rt_streamed[0].cuMemcpyPeerAsync(DEVICE(dst), to, DEVICE(src), from, count, stream);
	return rt_result(result);
}

RT_TWIN(cudaMemset, _ptds, (void *dst, int value, size_t count), (dst, value, count))
{
	return rt_result(d->cuMemsetD8(DEVICE(dst), (unsigned char)value, count));
}

RT_TWIN(cudaMemsetAsync, _ptsz, (void *dst, int value, size_t count, cudaStream_t stream), (dst, value, count, stream))
{
	return rt_result(d->cuMemsetD8Async(DEVICE(dst), (unsigned char)value, count, stream));
}

RT_TWIN(cudaMemset2D, _ptds, (void *dst, size_t pitch, int value, size_t width, size_t height),
	(dst, pitch, value, width, height))
{
	return rt_result(d->cuMemsetD2D8(DEVICE(dst), pitch, (unsigned char)value, width, height));
}

RT_TWIN(cudaMemset2DAsync, _ptsz,
	(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
	(dst, pitch, value, width, height, stream))
{
	return rt_result(d->cuMemsetD2D8Async(DEVICE(dst), pitch, (unsigned char)value, width, height, stream));
}

#if SIM_CUDART_MAJOR >= 13
RT_TWIN(cudaMemcpyBatchAsync, _ptsz,
	(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
	 struct cudaMemcpyAttributes *attributes, size_t *first, size_t attribute_count, cudaStream_t stream),
	(dsts, srcs, sizes, count, attributes, first, attribute_count, stream))
{
	return rt_result(d->cuMemcpyBatchAsync((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
					       (size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attributes,
					       first, attribute_count, stream));
}
#endif
