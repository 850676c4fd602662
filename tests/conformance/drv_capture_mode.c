/* Rule (H9): cuMemAlloc is refused, and breaks the capture, by the thread that captures and, while a capture is global,
 * by every thread; not by a thread that exchanged its mode for the relaxed one. Only a relaxed capture may be ended by
 * another thread. An event may be recorded on a stream that does not capture, beside any capture. */
#include <pthread.h>

#include "tests/conformance/rule_drv.h"

static CUcontext context;
static CUstream stream;

static CUresult alloc(CUstreamCaptureMode mode)
{
	CUdeviceptr memory;
	CUresult result;

	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	result = cuMemAlloc(&memory, 4096);
	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	return result;
}

static CUresult alloc_global(void)
{
	return alloc(CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult alloc_local(void)
{
	return alloc(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult alloc_relaxed(void)
{
	return alloc(CU_STREAM_CAPTURE_MODE_RELAXED);
}

/* On a stream of its own. */
static CUresult record(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream other;
	CUevent event;
	CUresult result;

	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	result = cuEventRecord(event, other);
	NEED(cuStreamDestroy(other));
	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	return result;
}

static CUresult end(void)
{
	CUgraph graph = NULL;
	CUresult result = cuStreamEndCapture(stream, &graph);

	if (graph)
		NEED(cuGraphDestroy(graph));
	return result;
}

struct job {
	CUresult (*function)(void);
	CUresult result;
};

static void *job_run(void *argument)
{
	struct job *job = argument;

	NEED(cuCtxSetCurrent(context));
	job->result = job->function();
	return NULL;
}

static CUresult elsewhere(CUresult (*function)(void))
{
	struct job job = {.function = function};
	pthread_t thread;

	NEED(pthread_create(&thread, NULL, job_run, &job));
	NEED(pthread_join(thread, NULL));
	return job.result;
}

static void begin(CUstreamCaptureMode mode)
{
	NEED(cuStreamBeginCapture(stream, mode));
}

int main(void)
{
	const CUresult refused = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, broken = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

	context = rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(alloc_relaxed(), CUDA_SUCCESS);
	WANT(elsewhere(alloc_relaxed), CUDA_SUCCESS);
	WANT(elsewhere(alloc_local), CUDA_SUCCESS);
	WANT(elsewhere(end), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	(void)end();

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(record(), CUDA_SUCCESS);
	WANT(elsewhere(record), CUDA_SUCCESS);
	WANT(end(), CUDA_SUCCESS);

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(alloc_global(), refused);
	WANT(end(), broken);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(elsewhere(alloc_global), refused);
	WANT(end(), broken);

	begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	WANT(elsewhere(alloc_global), CUDA_SUCCESS);
	WANT(alloc_local(), refused);
	WANT(end(), broken);

	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(alloc_global(), CUDA_SUCCESS);
	WANT(elsewhere(alloc_global), CUDA_SUCCESS);
	WANT(elsewhere(end), CUDA_SUCCESS);
	return rule_broken;
}
