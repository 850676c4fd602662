/* Copies. Bytes move when the operation runs, with two exceptions that the driver has too: a pageable source is read
 * at the call, and a pageable destination is written before the call returns.
 *
 * Synchronous copies wait for their own operation, except device to device, and except a pageable source, for which
 * the host waits only until it has been read. */
#include "tests/sim/cuda/sim_copy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_sched.h"

struct copy {
	struct sim_copy_shape shape;
	struct sim_ctx *ctx;
	void *staged; /* the bytes of a pageable source, without gaps; owned */
};

static size_t side_bytes(const struct sim_copy_side *side, const struct sim_copy_shape *shape)
{
	return (shape->depth - 1) * side->slice + (shape->height - 1) * side->pitch + shape->width;
}

static bool side_mapped(const struct sim_copy_side *side, const struct sim_copy_shape *shape, bool write)
{
	return sim_range_mapped(side->start, side_bytes(side, shape), write);
}

static bool side_accessible(const struct sim_copy_side *side, const struct sim_copy_shape *shape, bool write,
			    const struct sim_device *device)
{
	return sim_range_accessible(side->start, side_bytes(side, shape), write, device);
}

static bool pageable(uintptr_t address)
{
	return sim_range_find(address) == NULL;
}

static void rows_move(const struct sim_copy_shape *shape, struct sim_copy_side dst, struct sim_copy_side src)
{
	for (size_t z = 0; z < shape->depth; z++) {
		for (size_t y = 0; y < shape->height; y++)
			memmove((char *)dst.start + z * dst.slice + y * dst.pitch,
				(const char *)src.start + z * src.slice + y * src.pitch, shape->width);
	}
}

static struct sim_copy_side side_staged(const struct copy *copy)
{
	const struct sim_copy_shape *shape = &copy->shape;

	return (struct sim_copy_side){(uintptr_t)copy->staged, shape->width, shape->width * shape->height};
}

static void copy_run(struct sim_op *op)
{
	struct copy *copy = (struct copy *)op->payload;
	const struct sim_copy_shape *shape = &copy->shape;

	if (side_mapped(&shape->dst, shape, true) && (copy->staged || side_mapped(&shape->src, shape, false)))
		rows_move(shape, shape->dst, copy->staged ? side_staged(copy) : shape->src);
	else
		copy->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void copy_drop(struct sim_op *op)
{
	free(((struct copy *)op->payload)->staged);
}

static void copy_stage(struct copy *copy)
{
	copy->staged = malloc(copy->shape.width * copy->shape.height * copy->shape.depth);
	if (!copy->staged)
		abort();
	rows_move(&copy->shape, side_staged(copy), copy->shape.src);
}

CUresult sim_copy_check(const struct sim_copy_shape *shape, const struct sim_device *device)
{
	if (shape->width == 0 || shape->height == 0 || shape->depth == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!side_accessible(&shape->dst, shape, true, device) || !side_accessible(&shape->src, shape, false, device))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

struct sim_op *sim_copy_op(const struct sim_copy_shape *shape, struct sim_ctx *ctx)
{
	struct sim_op *op = sim_op_new(SIM_OP_COPY, sizeof(struct copy));
	struct copy *copy = (struct copy *)op->payload;

	copy->shape = *shape;
	copy->ctx = ctx;
	op->run = copy_run;
	op->drop = copy_drop;
	sim_op_touch(op, shape->dst.start, side_bytes(&shape->dst, shape), true);
	if (!pageable(shape->src.start))
		sim_op_touch(op, shape->src.start, side_bytes(&shape->src, shape), false);
	return op;
}

/* In a graph pageable memory is read and written when the node runs. */
static CUresult copy_capture(const struct sim_copy_shape *shape, struct sim_stream *stream)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	sim_copy_to_3d(shape, &params.memcpy.copyParams);
	return sim_capture_add(stream, &params);
}

/* A copy between peers names two contexts, and needs no access of one device to the memory of the other. */
static CUresult copy_submit(const struct sim_copy_shape *shape, CUstream handle, bool per_thread, bool async,
			    bool peers)
{
	bool from_pageable, to_pageable, device_only;
	struct sim_stream *stream;
	struct sim_point point;
	struct sim_op *op;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (!async)
		SIM_TRY(sim_capture_ask_stream(stream));
	if (shape->width == 0 || shape->height == 0 || shape->depth == 0)
		return CUDA_SUCCESS;
	SIM_TRY(sim_copy_check(shape, peers ? NULL : stream->ctx->device));
	if (stream->capture)
		return copy_capture(shape, stream);
	from_pageable = pageable(shape->src.start);
	to_pageable = pageable(shape->dst.start);
	device_only = sim_range_is_device(shape->src.start) && sim_range_is_device(shape->dst.start);
	if (!async && from_pageable)
		sim_sched_reach(sim_stream_tail(stream));
	op = sim_copy_op(shape, stream->ctx);
	if (from_pageable)
		copy_stage((struct copy *)op->payload);
	point = sim_stream_submit(stream, op);
	if (to_pageable || (!async && !device_only && !from_pageable)) {
		struct sim_ctx *ctx = stream->ctx;

		sim_sched_reach(point);
		return ctx->sticky;
	}
	return CUDA_SUCCESS;
}

CUresult sim_copy(const struct sim_copy_shape *shape, CUstream handle, bool per_thread, bool async)
{
	return copy_submit(shape, handle, per_thread, async, false);
}

static CUresult copy_flat(CUdeviceptr dst, CUdeviceptr src, size_t size_bytes, CUstream handle, bool per_thread,
			  bool async)
{
	struct sim_copy_shape shape = {.dst = {.start = dst}, .src = {.start = src}, size_bytes, 1, 1};

	return sim_copy(&shape, handle, per_thread, async);
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

/* The synchronous form waits for all work of both contexts, and is done when it returns. */
static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_bytes,
			  CUstream stream, bool per_thread, bool async)
{
	struct sim_copy_shape shape = {.dst = {.start = dst}, .src = {.start = src}, size_bytes, 1, 1};
	struct sim_ctx *ctx;

	SIM_TRY(sim_ready());
	if (!sim_handle_is(dst_ctx, SIM_KIND_CTX) || !sim_handle_is(src_ctx, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (size_bytes && (pageable(dst) || pageable(src)))
		return CUDA_ERROR_INVALID_VALUE;
	if (async)
		return copy_submit(&shape, stream, per_thread, true, true);
	sim_sched_drain((struct sim_ctx *)dst_ctx);
	sim_sched_drain((struct sim_ctx *)src_ctx);
	SIM_TRY(sim_ctx_current(&ctx));
	SIM_TRY(copy_submit(&shape, stream, per_thread, false, true));
	sim_sched_drain(ctx);
	return ctx->sticky;
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

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D name the sides alike. A pitch of 0 means no gaps. */
#define SIDE_START(c, side, pitch, slice_offset)                                                                       \
	((c->side##MemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->side##Host : (uintptr_t)c->side##Device) +         \
	 (slice_offset) + c->side##Y * (pitch) + c->side##XInBytes)

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool per_thread, bool async)
{
	struct sim_copy_shape shape = {.depth = 1};

	SIM_TRY(sim_ready());
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	shape.width = c->WidthInBytes;
	shape.height = c->Height;
	shape.src.pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes;
	shape.dst.pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes;
	shape.src.start = SIDE_START(c, src, shape.src.pitch, 0);
	shape.dst.start = SIDE_START(c, dst, shape.dst.pitch, 0);
	if (shape.height > 1 && (shape.src.pitch < shape.width || shape.dst.pitch < shape.width))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_copy(&shape, stream, per_thread, async);
}

CUresult sim_copy_from_3d(const CUDA_MEMCPY3D *c, struct sim_copy_shape *ret_shape)
{
	struct sim_copy_shape shape = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};

	if (c->srcLOD || c->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	shape.src.pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes;
	shape.dst.pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes;
	shape.src.slice = shape.src.pitch * (c->srcHeight ? c->srcHeight : c->Height);
	shape.dst.slice = shape.dst.pitch * (c->dstHeight ? c->dstHeight : c->Height);
	shape.src.start = SIDE_START(c, src, shape.src.pitch, c->srcZ * shape.src.slice);
	shape.dst.start = SIDE_START(c, dst, shape.dst.pitch, c->dstZ * shape.dst.slice);
	if (shape.height > 1 && (shape.src.pitch < shape.width || shape.dst.pitch < shape.width))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_shape = shape;
	return CUDA_SUCCESS;
}

#define SIDE_TELL(c, side, from, shape)                                                                                \
	do {                                                                                                           \
		(c)->side##MemoryType =                                                                                \
		    sim_range_is_device((from)->start) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;                    \
		if ((c)->side##MemoryType == CU_MEMORYTYPE_HOST)                                                       \
			(c)->side##Host = (void *)(from)->start;                                                       \
		else                                                                                                   \
			(c)->side##Device = (from)->start;                                                             \
		(c)->side##Pitch = (from)->pitch ? (from)->pitch : (shape)->width;                                     \
		(c)->side##Height = (from)->slice ? (from)->slice / (c)->side##Pitch : (shape)->height;                \
	} while (0)

void sim_copy_to_3d(const struct sim_copy_shape *shape, CUDA_MEMCPY3D *ret_c)
{
	*ret_c = (CUDA_MEMCPY3D){.WidthInBytes = shape->width, .Height = shape->height, .Depth = shape->depth};
	SIDE_TELL(ret_c, src, &shape->src, shape);
	SIDE_TELL(ret_c, dst, &shape->dst, shape);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool per_thread, bool async)
{
	struct sim_copy_shape shape;

	SIM_TRY(sim_ready());
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_copy_from_3d(c, &shape));
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

SIM_TWIN(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *c), (c))
{
	return copy_3d(c, NULL, per_thread, false);
}

SIM_TWIN(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *c, CUstream stream), (c, stream))
{
	return copy_3d(c, stream, per_thread, true);
}
