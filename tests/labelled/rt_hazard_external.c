/* The event was recorded for the last time by a graph, behind the kernel that the other stream waits for.
 * settings: hazards:on
 */
#include "tests/labelled/two_streams.h"

static cudaGraphExec_t recorded_graph(void)
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;

	NEED(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
	NEED(cudaEventRecordWithFlags(event, first, cudaEventRecordExternal));
	NEED(cudaStreamEndCapture(first, &graph));
	NEED(cudaGraphInstantiate(&executable, graph, 0));
	return executable;
}

int main(void)
{
	uint32_t *words = words_new();
	cudaGraphExec_t executable;

	start();
	executable = recorded_graph();
	for (int i = 0; i < 5; i++) {
		NEED(cudaEventRecord(event, first));
		kernel_fill(words, 2, 16, first);
		NEED(cudaGraphLaunch(executable, first));
		NEED(cudaStreamWaitEvent(second, event, 0));
		NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, second));
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
