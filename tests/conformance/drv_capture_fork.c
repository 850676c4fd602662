/* Rule: waiting for an event recorded in a capture pulls a stream in; what was pulled in must be joined again. Waiting
 * across the boundary of a capture, or for another capture, is refused. */
#include "tests/conformance/rule_drv.h"

static CUstream one, two;
static CUevent fork_event, join_event;
static CUdeviceptr memory;

static CUstreamCaptureStatus status_of(CUstream stream)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)99;

	NEED(cuStreamIsCapturing(stream, &status));
	return status;
}

static void fork_two(void)
{
	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuMemsetD8Async(memory, 1, 64, one));
	NEED(cuEventRecord(fork_event, one));
	WANT(status_of(two), CU_STREAM_CAPTURE_STATUS_NONE);
	NEED(cuStreamWaitEvent(two, fork_event, 0));
	WANT(status_of(two), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	NEED(cuMemsetD8Async(memory, 2, 64, two));
}

static void end(CUresult result)
{
	CUgraph graph;

	WANT(cuStreamEndCapture(one, &graph), result);
	WANT(graph != NULL, result == CUDA_SUCCESS);
	WANT(status_of(one), CU_STREAM_CAPTURE_STATUS_NONE);
	WANT(status_of(two), CU_STREAM_CAPTURE_STATUS_NONE);
	if (graph)
		NEED(cuGraphDestroy(graph));
}

int main(void)
{
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&memory, 64));

	fork_two();
	NEED(cuEventRecord(join_event, two));
	NEED(cuStreamWaitEvent(one, join_event, 0));
	end(CUDA_SUCCESS);

	fork_two();
	end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	NEED(cuEventRecord(join_event, two));
	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(cuStreamWaitEvent(one, join_event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuEventRecord(fork_event, one));
	WANT(cuStreamWaitEvent(two, fork_event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	WANT(cuStreamEndCapture(two, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	return rule_broken;
}
