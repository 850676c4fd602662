/* Copies. Bytes move when the operation runs, with two exceptions that the driver has too: a pageable source is read
 * at the call, and a pageable destination is written before the call returns.
 *
 * Synchronous copies wait for their own operation, except device to device, and except a pageable source, for which
 * the host waits only until it has been read. */
#include "tests/sim/cuda/sim_copy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_sched.h"

struct copy {
	struct sim_copy2d shape;
	struct sim_ctx *ctx;
	void *staged; /* the bytes of a pageable source; owned */
};

static bool shape_accessible(uintptr_t start, size_t pitch, const struct sim_copy2d *shape, bool write)
{
	return sim_range_accessible(start, (shape->height - 1) * pitch + shape->width, write);
}

static bool pageable(uintptr_t address)
{
	return sim_range_find(address) == NULL;
}

static void copy_rows(const struct sim_copy2d *shape, const char *from, size_t from_pitch)
{
	for (size_t row = 0; row < shape->height; row++)
		memmove((char *)shape->dst + row * shape->dst_pitch, from + row * from_pitch, shape->width);
}

static void copy_run(struct sim_op *op)
{
	struct copy *copy = (struct copy *)op->payload;
	const struct sim_copy2d *shape = &copy->shape;

	if (!shape_accessible(shape->dst, shape->dst_pitch, shape, true) ||
	    (!copy->staged && !shape_accessible(shape->src, shape->src_pitch, shape, false))) {
		copy->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
		return;
	}
	if (copy->staged)
		copy_rows(shape, copy->staged, shape->width);
	else
		copy_rows(shape, (const char *)shape->src, shape->src_pitch);
}

static void copy_drop(struct sim_op *op)
{
	free(((struct copy *)op->payload)->staged);
}

static void copy_stage(struct copy *copy)
{
	const struct sim_copy2d *shape = &copy->shape;

	copy->staged = malloc(shape->width * shape->height);
	if (!copy->staged)
		abort();
	for (size_t row = 0; row < shape->height; row++)
		memcpy((char *)copy->staged + row * shape->width, (const char *)shape->src + row * shape->src_pitch,
		       shape->width);
}

static bool shape_check(const struct sim_copy2d *shape)
{
	return shape_accessible(shape->dst, shape->dst_pitch, shape, true) &&
	       shape_accessible(shape->src, shape->src_pitch, shape, false);
}

CUresult sim_copy(const struct sim_copy2d *shape, CUstream handle, bool per_thread, bool async)
{
	bool from_pageable, to_pageable, device_only;
	struct sim_stream *stream;
	struct sim_point point;
	struct sim_op *op;
	struct copy *copy;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (shape->width == 0 || shape->height == 0)
		return CUDA_SUCCESS;
	if (!shape_check(shape))
		return CUDA_ERROR_INVALID_VALUE;
	from_pageable = pageable(shape->src);
	to_pageable = pageable(shape->dst);
	device_only = sim_range_is_device(shape->src) && sim_range_is_device(shape->dst);
	if (!async && from_pageable)
		sim_sched_reach(sim_stream_tail(stream));
	op = sim_op_new(SIM_OP_COPY, sizeof(*copy));
	copy = (struct copy *)op->payload;
	copy->shape = *shape;
	copy->ctx = stream->ctx;
	op->run = copy_run;
	op->drop = copy_drop;
	sim_op_touch(op, shape->dst, (shape->height - 1) * shape->dst_pitch + shape->width, true);
	sim_op_touch(op, shape->src, (shape->height - 1) * shape->src_pitch + shape->width, false);
	if (from_pageable)
		copy_stage(copy);
	point = sim_stream_submit(stream, op);
	if (to_pageable || (!async && !device_only && !from_pageable)) {
		struct sim_ctx *ctx = stream->ctx;

		sim_sched_reach(point);
		return ctx->sticky;
	}
	return CUDA_SUCCESS;
}

static CUresult copy_flat(CUdeviceptr dst, CUdeviceptr src, size_t size_bytes, CUstream handle, bool per_thread,
			  bool async)
{
	return sim_copy(&(struct sim_copy2d){dst, size_bytes, src, size_bytes, size_bytes, 1}, handle, per_thread, async);
}

/* A copy whose direction is in its name: the device side must be device memory. */
static CUresult copy_typed(CUdeviceptr dst, bool dst_device, CUdeviceptr src, bool src_device, size_t size_bytes,
			   CUstream handle, bool per_thread, bool async)
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (size_bytes && ((dst_device && pageable(dst)) || (src_device && pageable(src))))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_flat(dst, src, size_bytes, handle, per_thread, async);
}

SIM_TWIN(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size_bytes), (dst, src, size_bytes))
{
	return copy_flat(dst, src, size_bytes, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t size_bytes, CUstream stream),
	 (dst, src, size_bytes, stream))
{
	return copy_flat(dst, src, size_bytes, stream, per_thread, true);
}

SIM_TWIN(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t size_bytes), (dst, src, size_bytes))
{
	return copy_typed(dst, true, (CUdeviceptr)(uintptr_t)src, false, size_bytes, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t size_bytes, CUstream stream),
	 (dst, src, size_bytes, stream))
{
	return copy_typed(dst, true, (CUdeviceptr)(uintptr_t)src, false, size_bytes, stream, per_thread, true);
}

SIM_TWIN(cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t size_bytes), (dst, src, size_bytes))
{
	return copy_typed((CUdeviceptr)(uintptr_t)dst, false, src, true, size_bytes, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t size_bytes, CUstream stream),
	 (dst, src, size_bytes, stream))
{
	return copy_typed((CUdeviceptr)(uintptr_t)dst, false, src, true, size_bytes, stream, per_thread, true);
}

SIM_TWIN(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size_bytes), (dst, src, size_bytes))
{
	return copy_typed(dst, true, src, true, size_bytes, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t size_bytes, CUstream stream),
	 (dst, src, size_bytes, stream))
{
	return copy_typed(dst, true, src, true, size_bytes, stream, per_thread, true);
}

static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_bytes,
			  CUstream stream, bool per_thread, bool async)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(dst_ctx, SIM_KIND_CTX) || !sim_handle_is(src_ctx, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy_typed(dst, true, src, true, size_bytes, stream, per_thread, async);
}

SIM_TWIN(cuMemcpyPeer, _ptds,
	 (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_bytes),
	 (dst, dst_ctx, src, src_ctx, size_bytes))
{
	return copy_peer(dst, dst_ctx, src, src_ctx, size_bytes, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpyPeerAsync, _ptsz,
	 (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_bytes, CUstream stream),
	 (dst, dst_ctx, src, src_ctx, size_bytes, stream))
{
	return copy_peer(dst, dst_ctx, src, src_ctx, size_bytes, stream, per_thread, true);
}

static uintptr_t side_address(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t x, size_t y)
{
	uintptr_t base = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;

	return base + y * pitch + x;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool per_thread, bool async)
{
	struct sim_copy2d shape;

	SIM_TRY(sim_ready());
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	shape.width = c->WidthInBytes;
	shape.height = c->Height;
	shape.src_pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes;
	shape.dst_pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes;
	shape.src = side_address(c->srcMemoryType, c->srcHost, c->srcDevice, shape.src_pitch, c->srcXInBytes, c->srcY);
	shape.dst = side_address(c->dstMemoryType, c->dstHost, c->dstDevice, shape.dst_pitch, c->dstXInBytes, c->dstY);
	if (shape.height > 1 && (shape.src_pitch < shape.width || shape.dst_pitch < shape.width))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_copy(&shape, stream, per_thread, async);
}

SIM_TWIN(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *c), (c))
{
	return copy_2d(c, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *c), (c))
{
	return copy_2d(c, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *c, CUstream stream), (c, stream))
{
	return copy_2d(c, stream, per_thread, true);
}
