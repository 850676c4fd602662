/* Batches of copies. Those of one batch have no order among themselves for the program; here they run one after the
 * other. */
#include "tests/sim/cuda/sim_copy.h"

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_stream.h"

struct batch {
	const CUdeviceptr *dsts, *srcs;
	const size_t *sizes;
	size_t count;
	const CUmemcpyAttributes *attributes;
	const size_t *first; /* copy that an entry of `attributes` is for, and those after it up to the next entry's */
	size_t attribute_count;
};

static CUresult batch_check(const struct batch *batch)
{
	if (!batch->dsts || !batch->srcs || !batch->sizes || !batch->attributes || !batch->first || batch->count == 0 ||
	    batch->attribute_count == 0 || batch->attribute_count > batch->count || batch->first[0] != 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < batch->attribute_count; i++) {
		if (batch->attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    batch->attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			return CUDA_ERROR_INVALID_VALUE;
		if (batch->first[i] >= batch->count || (i && batch->first[i] <= batch->first[i - 1]))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult batch_submit(const struct batch *batch, CUstream handle, bool per_thread, size_t *fail)
{
	struct sim_stream *stream;
	size_t entry = 0;

	*fail = SIZE_MAX;
	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	SIM_TRY(batch_check(batch));
	if (stream->legacy)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < batch->count; i++) {
		struct sim_copy_shape shape = {
		    .dst = {.start = batch->dsts[i]}, .src = {.start = batch->srcs[i]}, batch->sizes[i], 1, 1};

		*fail = i;
		SIM_TRY(sim_copy(&shape, handle, per_thread, true));
		if (entry + 1 < batch->attribute_count && batch->first[entry + 1] <= i)
			entry++;
		if (batch->attributes[entry].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
		    !stream->capture)
			sim_sched_reach(sim_stream_tail(stream));
	}
	return CUDA_SUCCESS;
}

SIM_TWIN(cuMemcpyBatchAsync, _ptsz,
	 (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
	  size_t *first, size_t attribute_count, size_t *ret_fail, CUstream stream),
	 (dsts, srcs, sizes, count, attributes, first, attribute_count, ret_fail, stream))
{
	struct batch batch = {dsts, srcs, sizes, count, attributes, first, attribute_count};
	size_t fail;
	CUresult result = batch_submit(&batch, stream, per_thread, &fail);

	if (ret_fail && result != CUDA_SUCCESS)
		*ret_fail = fail;
	return result;
}

SIM_TWIN(cuMemcpyBatchAsync_v2, _ptsz,
	 (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
	  size_t *first, size_t attribute_count, CUstream stream),
	 (dsts, srcs, sizes, count, attributes, first, attribute_count, stream))
{
	struct batch batch = {dsts, srcs, sizes, count, attributes, first, attribute_count};
	size_t fail;

	return batch_submit(&batch, stream, per_thread, &fail);
}
