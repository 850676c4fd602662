/* Advice about managed memory: prefetching, advising, attaching. It moves nothing here, where every device and the
 * host see the same pages; a prefetch takes its place in its stream. */
#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"

static CUresult managed_check(CUdeviceptr pointer, size_t size_bytes)
{
	const struct sim_range *range = sim_range_find(pointer);

	SIM_TRY(sim_ready());
	if (!range || range->kind != SIM_RANGE_MANAGED || size_bytes == 0 ||
	    size_bytes > range->start + range->size_bytes - pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult managed_prefetch(CUdeviceptr pointer, size_t size_bytes, CUstream handle, bool per_thread)
{
	struct sim_stream *stream;
	struct sim_op *op;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	SIM_TRY(managed_check(pointer, size_bytes));
	SIM_TRY(sim_capture_ask_stream(stream));
	op = sim_op_new(SIM_OP_PREFETCH, 0);
	sim_op_touch(op, pointer, size_bytes, false);
	sim_stream_submit(stream, op);
	return CUDA_SUCCESS;
}

SIM_TWIN(cuMemPrefetchAsync, _ptsz, (CUdeviceptr pointer, size_t size_bytes, CUdevice device, CUstream stream),
	 (pointer, size_bytes, device, stream))
{
	(void)device;
	return managed_prefetch(pointer, size_bytes, stream, per_thread);
}

SIM_TWIN(cuMemPrefetchAsync_v2, _ptsz,
	 (CUdeviceptr pointer, size_t size_bytes, CUmemLocation location, unsigned flags, CUstream stream),
	 (pointer, size_bytes, location, flags, stream))
{
	(void)location;
	return flags ? CUDA_ERROR_INVALID_VALUE : managed_prefetch(pointer, size_bytes, stream, per_thread);
}

CUresult cuMemAdvise(CUdeviceptr pointer, size_t size_bytes, CUmem_advise advice, CUdevice device)
{
	SIM_ENTER(cuMemAdvise);
	(void)advice, (void)device;
	return managed_check(pointer, size_bytes);
}

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t size_bytes, CUmem_advise advice, CUmemLocation location)
{
	SIM_ENTER(cuMemAdvise_v2);
	(void)advice, (void)location;
	return managed_check(pointer, size_bytes);
}

SIM_TWIN(cuStreamAttachMemAsync, _ptsz, (CUstream stream, CUdeviceptr pointer, size_t length, unsigned flags),
	 (stream, pointer, length, flags))
{
	const struct sim_range *range = sim_range_find(pointer);

	(void)flags;
	return managed_prefetch(pointer, length || !range ? length : range->size_bytes, stream, per_thread);
}
