/* Memsets: see sim_set.h. The synchronous forms do not wait, as on the driver: device memory is set in the order of the
 * default stream. */
#include "tests/sim/cuda/sim_set.h"

#include <string.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

struct set {
	CUDA_MEMSET_NODE_PARAMS_v2 params;
	struct sim_ctx *ctx;
};

static size_t set_bytes(const CUDA_MEMSET_NODE_PARAMS_v2 *set)
{
	return (set->height - 1) * set->pitch + set->width * set->elementSize;
}

static void row_set(char *at, const CUDA_MEMSET_NODE_PARAMS_v2 *set)
{
	uint16_t half = (uint16_t)set->value;

	if (set->elementSize == 1) {
		memset(at, (int)set->value, set->width);
		return;
	}
	for (size_t i = 0; i < set->width; i++) {
		if (set->elementSize == 2)
			memcpy(at + i * 2, &half, 2);
		else
			memcpy(at + i * 4, &set->value, 4);
	}
}

static void set_run(struct sim_op *op)
{
	const struct set *set = (const struct set *)op->payload;

	if (!sim_range_mapped(set->params.dst, set_bytes(&set->params), true)) {
		set->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
		return;
	}
	for (size_t row = 0; row < set->params.height; row++)
		row_set((char *)(uintptr_t)set->params.dst + row * set->params.pitch, &set->params);
}

CUresult sim_set_check(const CUDA_MEMSET_NODE_PARAMS_v2 *set, const struct sim_device *device)
{
	unsigned element_bytes = set->elementSize;

	if (set->width == 0 || set->height == 0 || (element_bytes != 1 && element_bytes != 2 && element_bytes != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if (set->height > 1 && (set->pitch < set->width * element_bytes || set->pitch % element_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_range_find(set->dst) || set->dst % element_bytes ||
	    !sim_range_accessible(set->dst, set_bytes(set), true, device))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

struct sim_op *sim_set_op(const CUDA_MEMSET_NODE_PARAMS_v2 *set, struct sim_ctx *ctx)
{
	struct sim_op *op = sim_op_new(SIM_OP_SET, sizeof(struct set));

	*(struct set *)op->payload = (struct set){*set, ctx};
	op->run = set_run;
	sim_op_touch(op, set->dst, set_bytes(set), true);
	return op;
}

static CUresult set_submit(CUDA_MEMSET_NODE_PARAMS_v2 set, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (set.width == 0 || set.height == 0)
		return CUDA_SUCCESS;
	SIM_TRY(sim_set_check(&set, stream->ctx->device));
	if (stream->capture) {
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = set};

		return sim_capture_add(stream, &params);
	}
	sim_stream_submit(stream, sim_set_op(&set, stream->ctx));
	return CUDA_SUCCESS;
}

/*  X(bits, type of the value, its bytes) */
#define SET_WIDTHS(X) X(8, unsigned char, 1) X(16, unsigned short, 2) X(32, unsigned, 4)

#define SET_ROW(bytes) ((CUDA_MEMSET_NODE_PARAMS_v2){dst, count * bytes, value, bytes, count, 1, NULL})
#define SET_ROWS(bytes) ((CUDA_MEMSET_NODE_PARAMS_v2){dst, pitch, value, bytes, width, height, NULL})

#define SET_FUNCTIONS(bits, type, bytes)                                                                               \
	SIM_TWIN(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t count), (dst, value, count))        \
	{                                                                                                              \
		return set_submit(SET_ROW(bytes), NULL, per_thread);                                                   \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr dst, type value, size_t count, CUstream stream),          \
		 (dst, value, count, stream))                                                                          \
	{                                                                                                              \
		return set_submit(SET_ROW(bytes), stream, per_thread);                                                 \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD2D##bits##_v2, _ptds,                                                                        \
		 (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height),                             \
		 (dst, pitch, value, width, height))                                                                   \
	{                                                                                                              \
		return set_submit(SET_ROWS(bytes), NULL, per_thread);                                                  \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD2D##bits##Async, _ptsz,                                                                      \
		 (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream),            \
		 (dst, pitch, value, width, height, stream))                                                           \
	{                                                                                                              \
		return set_submit(SET_ROWS(bytes), stream, per_thread);                                                \
	}

SET_WIDTHS(SET_FUNCTIONS)
