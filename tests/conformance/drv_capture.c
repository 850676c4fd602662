/* Rule: between begin and end a stream runs nothing, and says so; each capture has an id of its own. Not on the legacy
 * stream, not twice, and no end without a begin. */
#include "tests/conformance/rule_drv.h"

#define BYTES 4096

static CUstreamCaptureStatus status_of(CUstream stream)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)99;

	NEED(cuStreamIsCapturing(stream, &status));
	return status;
}

static unsigned long long id_of(CUstream stream)
{
	CUstreamCaptureStatus status;
	cuuint64_t id = 0;

#if CUDA_VERSION >= 13000
	NEED(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
#else
	NEED(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL));
#endif
	WANT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	return id;
}

static void begin_refused(CUstream stream)
{
	WANT(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS, 1);
	WANT(cuStreamBeginCapture(stream, (CUstreamCaptureMode)99), CUDA_ERROR_INVALID_VALUE);
	WANT(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUgraph end(CUstream stream)
{
	CUgraph graph = NULL;

	NEED(cuStreamEndCapture(stream, &graph));
	WANT(graph != NULL, 1);
	WANT(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
	return graph;
}

int main(void)
{
	unsigned long long first, second;
	unsigned char bytes[BYTES];
	CUdeviceptr memory;
	CUstream stream;
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&memory, BYTES));
	NEED(cuMemsetD8(memory, 1, BYTES));
	NEED(cuCtxSynchronize());
	begin_refused(stream);
	WANT(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS, 1);

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	first = id_of(stream);
	NEED(cuMemsetD8Async(memory, 2, BYTES, stream));
	WANT(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS, 1);
	NEED(cuGraphDestroy(end(stream)));
	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH(bytes, memory, BYTES));
	WANT(bytes[BYTES / 2], 1);

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	second = id_of(stream);
	WANT(first != second, 1);
	NEED(cuGraphDestroy(end(stream)));
	return rule_broken;
}
