/* Stream capture as far as it goes today: no stream ever captures, and every way of asking says so. Beginning a
 * capture is not supported (the default entries answer). */
#include "tests/sim/cuda/sim_stream.h"

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static CUresult capture_none(CUstream handle, bool per_thread, CUstreamCaptureStatus *status)
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamIsCapturing, _ptsz, (CUstream handle, CUstreamCaptureStatus *status), (handle, status))
{
	return capture_none(handle, per_thread, status);
}

SIM_TWIN(cuStreamGetCaptureInfo, _ptsz, (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id),
	 (handle, status, id))
{
	(void)id;
	return capture_none(handle, per_thread, status);
}

SIM_TWIN(cuStreamGetCaptureInfo_v2, _ptsz,
	 (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	  const CUgraphNode **dependencies, size_t *count),
	 (handle, status, id, graph, dependencies, count))
{
	(void)id, (void)graph, (void)dependencies, (void)count;
	return capture_none(handle, per_thread, status);
}

SIM_TWIN(cuStreamGetCaptureInfo_v3, _ptsz,
	 (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	  const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count),
	 (handle, status, id, graph, dependencies, edges, count))
{
	(void)id, (void)graph, (void)dependencies, (void)edges, (void)count;
	return capture_none(handle, per_thread, status);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode previous = thread_mode;

	SIM_ENTER(cuThreadExchangeStreamCaptureMode);
	SIM_TRY(sim_ready());
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}
