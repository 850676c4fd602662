/* Memsets: one element pattern over rows. The synchronous forms do not wait, as on the driver: device memory is set in
 * the order of the default stream. */
#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

#include <string.h>

struct set {
	uintptr_t dst;
	size_t pitch;
	size_t width; /* elements */
	size_t height;
	unsigned value;
	unsigned element_bytes; /* 1, 2 or 4 */
	struct sim_ctx *ctx;
};

static size_t set_bytes(const struct set *set)
{
	return (set->height - 1) * set->pitch + set->width * set->element_bytes;
}

static void set_run(struct sim_op *op)
{
	const struct set *set = (const struct set *)op->payload;

	if (!sim_range_accessible(set->dst, set_bytes(set), true)) {
		set->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
		return;
	}
	for (size_t row = 0; row < set->height; row++) {
		char *at = (char *)set->dst + row * set->pitch;

		for (size_t i = 0; i < set->width; i++)
			memcpy(at + i * set->element_bytes, &set->value, set->element_bytes);
	}
}

static CUresult set_submit(struct set set, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	struct sim_op *op;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (set.width == 0 || set.height == 0)
		return CUDA_SUCCESS;
	if (!sim_range_find(set.dst) || set.dst % set.element_bytes || set.pitch % set.element_bytes ||
	    (set.height > 1 && set.pitch < set.width * set.element_bytes) ||
	    !sim_range_accessible(set.dst, set_bytes(&set), true))
		return CUDA_ERROR_INVALID_VALUE;
	op = sim_op_new(SIM_OP_SET, sizeof(set));
	set.ctx = stream->ctx;
	memcpy(op->payload, &set, sizeof(set));
	op->run = set_run;
	sim_op_touch(op, set.dst, set_bytes(&set), true);
	sim_stream_submit(stream, op);
	return CUDA_SUCCESS;
}

/*  X(bits, type of the value, its bytes) */
#define SET_WIDTHS(X) X(8, unsigned char, 1) X(16, unsigned short, 2) X(32, unsigned, 4)

#define SET_FUNCTIONS(bits, type, bytes)                                                                               \
	SIM_TWIN(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t count), (dst, value, count))        \
	{                                                                                                              \
		return set_submit((struct set){dst, count * bytes, count, 1, value, bytes, NULL}, NULL, per_thread);   \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr dst, type value, size_t count, CUstream stream),          \
		 (dst, value, count, stream))                                                                          \
	{                                                                                                              \
		return set_submit((struct set){dst, count * bytes, count, 1, value, bytes, NULL}, stream, per_thread); \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD2D##bits##_v2, _ptds,                                                                        \
		 (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height),                             \
		 (dst, pitch, value, width, height))                                                                   \
	{                                                                                                              \
		return set_submit((struct set){dst, pitch, width, height, value, bytes, NULL}, NULL, per_thread);      \
	}                                                                                                              \
	SIM_TWIN(cuMemsetD2D##bits##Async, _ptsz,                                                                      \
		 (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream),            \
		 (dst, pitch, value, width, height, stream))                                                           \
	{                                                                                                              \
		return set_submit((struct set){dst, pitch, width, height, value, bytes, NULL}, stream, per_thread);    \
	}

SET_WIDTHS(SET_FUNCTIONS)
