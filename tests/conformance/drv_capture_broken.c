/* Rule (H9): what asks about a capturing stream, its context or an event recorded in it is refused and invalidates the
 * capture, also where one would not think so (its id, its flags); so does work on the legacy stream while a blocking
 * one captures. An invalidated capture stays until it is ended, and leaves no graph. An end in another thread
 * than the beginning's is an error and ends it as well; where nobody wants the graph, an end needs no place for it. */
#include <pthread.h>

#include "tests/conformance/rule_drv.h"

static CUcontext context;
static CUevent event, captured;

static CUresult ask_ctx_record(CUstream stream)
{
	(void)stream;
	return cuCtxRecordEvent(context, event);
}

static CUresult ask_ctx_synchronize(CUstream stream)
{
	(void)stream;
	return cuCtxSynchronize();
}

static CUresult ask_query(CUstream stream)
{
	return cuStreamQuery(stream);
}

static CUresult ask_id(CUstream stream)
{
	unsigned long long id;

	return cuStreamGetId(stream, &id);
}

static CUresult ask_flags(CUstream stream)
{
	unsigned flags;

	return cuStreamGetFlags(stream, &flags);
}

static CUresult ask_synchronize(CUstream stream)
{
	return cuStreamSynchronize(stream);
}

static CUresult ask_event_query(CUstream stream)
{
	NEED(cuEventRecord(captured, stream));
	return cuEventQuery(captured);
}

static CUresult ask_event_synchronize(CUstream stream)
{
	NEED(cuEventRecord(captured, stream));
	return cuEventSynchronize(captured);
}

static CUresult work_on_legacy(CUstream stream)
{
	CUstreamCaptureStatus status;

	WANT(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	return cuEventRecord(event, CU_STREAM_LEGACY);
}

static void breaks(CUresult (*ask)(CUstream), CUresult refused, unsigned flags)
{
	CUgraph graph = (CUgraph)(void *)&graph;
	CUstreamCaptureStatus status;
	CUstream stream;

	NEED(cuStreamCreate(&stream, flags));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(ask(stream), refused);
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	WANT(cuEventRecord(event, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	WANT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	WANT(graph == NULL, 1);
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	NEED(cuStreamDestroy(stream));
}

/* These may be asked of a capturing stream. */
static void harmless(void)
{
	CUstreamCaptureStatus status;
	unsigned long long id;
	CUstream stream, other;
	CUcontext answer;
	CUgraph graph;
	int priority;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuStreamGetId(other, &id));
	NEED(cuStreamGetCtx(stream, &answer));
	NEED(cuStreamGetPriority(stream, &priority));
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuGraphDestroy(graph));
}

static void *end_elsewhere(void *stream)
{
	CUgraph graph;

	NEED(cuCtxSetCurrent(context));
	WANT(cuStreamEndCapture((CUstream)stream, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	return NULL;
}

static void odd_ends(void)
{
	CUstreamCaptureStatus status;
	pthread_t thread;
	CUstream stream;
	CUgraph graph;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	NEED(pthread_create(&thread, NULL, end_elsewhere, stream));
	NEED(pthread_join(thread, NULL));
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	WANT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(cuStreamEndCapture(stream, NULL), CUDA_SUCCESS);
	NEED(cuStreamIsCapturing(stream, &status));
	WANT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	NEED(cuStreamDestroy(stream));
}

int main(void)
{
	context = rule_start();
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&captured, CU_EVENT_DISABLE_TIMING));
	breaks(ask_ctx_record, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_ctx_synchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_query, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_flags, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_synchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CU_STREAM_NON_BLOCKING);
	breaks(ask_event_query, CUDA_ERROR_CAPTURED_EVENT, CU_STREAM_NON_BLOCKING);
	breaks(ask_event_synchronize, CUDA_ERROR_CAPTURED_EVENT, CU_STREAM_NON_BLOCKING);
	breaks(work_on_legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CU_STREAM_DEFAULT);
	harmless();
	odd_ends();
	return rule_broken;
}
