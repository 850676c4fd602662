/* Streams, events and host functions of the simulated runtime. */
#include "tests/sim/cudart/rt.h"

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	RT_ENTER();
	return rt_result(rt.cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	RT_ENTER();
	return rt_result(rt.cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	RT_ENTER();
	return rt_result(rt.cuStreamDestroy(stream));
}

RT_TWIN(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream))
{
	return rt_result(d->cuStreamQuery(stream));
}

RT_TWIN(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream))
{
	return rt_result(d->cuStreamSynchronize(stream));
}

RT_TWIN(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
{
	return rt_result(d->cuStreamWaitEvent(stream, event, flags));
}

RT_TWIN(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long *id), (stream, id))
{
	return rt_result(d->cuStreamGetId(stream, id));
}

RT_TWIN(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned *flags), (stream, flags))
{
	return rt_result(d->cuStreamGetFlags(stream, flags));
}

RT_TWIN(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int *priority), (stream, priority))
{
	return rt_result(d->cuStreamGetPriority(stream, priority));
}

RT_TWIN(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int *device), (stream, device))
{
	return rt_result(d->cuStreamGetDevice ? d->cuStreamGetDevice(stream, device) : CUDA_ERROR_NOT_SUPPORTED);
}

RT_TWIN(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode))
{
	return rt_result(d->cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

RT_TWIN(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t *graph), (stream, graph))
{
	return rt_result(d->cuStreamEndCapture(stream, graph));
}

RT_TWIN(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureStatus *status), (stream, status))
{
	return rt_result(d->cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	RT_ENTER();
	return rt_result(rt.cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

RT_TWIN(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t fn, void *data), (stream, fn, data))
{
	return rt_result(d->cuLaunchHostFunc(stream, fn, data));
}

/* CUresult and cudaError_t have the same values, so the callback types agree. */
RT_TWIN(cudaStreamAddCallback, _ptsz, (cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags),
	(stream, callback, data, flags))
{
	return rt_result(d->cuStreamAddCallback(stream, (CUstreamCallback)(void *)callback, data, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	RT_ENTER();
	return rt_result(rt.cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	RT_ENTER();
	return rt_result(rt.cuEventCreate(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuEventDestroy(event));
}

RT_TWIN(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream), (event, stream))
{
	return rt_result(d->cuEventRecord(event, stream));
}

RT_TWIN(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
	(event, stream, flags))
{
	return rt_result(d->cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RT_ENTER();
	return rt_result(rt.cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RT_ENTER();
	return rt_result(rt.cuEventElapsedTime(ms, start, end));
}
