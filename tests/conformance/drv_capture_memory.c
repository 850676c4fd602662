/* Rule (H7): a stream-ordered allocation on a capturing stream is a node of the graph, which a free on that stream may
 * name; memory that is no graph's may not be freed there. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUdeviceptr node = 0, other = 0;
	CUstream stream;
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&other, 4096, stream));
	NEED(cuStreamSynchronize(stream));

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuMemAllocAsync(&node, 4096, stream));
	WANT(node != 0 && node != other, 1);
	NEED(cuMemsetD8Async(node, 1, 4096, stream));
	NEED(cuMemFreeAsync(node, stream));
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuGraphDestroy(graph));

	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(cuMemFreeAsync(other, stream), CUDA_ERROR_INVALID_VALUE);
	(void)cuStreamEndCapture(stream, &graph);
	NEED(cuMemFreeAsync(other, stream));
	NEED(cuStreamSynchronize(stream));
	return rule_broken;
}
