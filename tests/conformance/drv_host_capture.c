/* Rule (H9): while a thread captures in global mode it may not allocate pinned memory, nor free it, which breaks the
 * capture; in relaxed mode it may. */
#include "tests/conformance/rule_drv.h"

static CUresult end(CUstream stream)
{
	CUgraph graph = NULL;
	CUresult result = cuStreamEndCapture(stream, &graph);

	if (graph != NULL)
		NEED(cuGraphDestroy(graph));
	return result;
}

int main(void)
{
	void *memory, *more = NULL;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemHostAlloc(&memory, 1 << 20, 0));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(cuMemHostAlloc(&more, 1 << 20, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	WANT(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(cuMemFreeHost(memory), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	WANT(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuMemHostAlloc(&more, 1 << 20, 0));
	NEED(cuMemFreeHost(more));
	NEED(cuMemFreeHost(memory));
	WANT(end(stream), CUDA_SUCCESS);
	return rule_broken;
}
