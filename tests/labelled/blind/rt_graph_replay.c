/* A step of two streams is captured once and replayed; one wait at the end, one copy of the results. Nothing may be said.
 *
 * settings: hazards:on */
#include "tests/labelled/blind/work.h"

static cudaGraphExec_t step_capture(uint32_t *words, uint32_t *sums, cudaStream_t stream, cudaStream_t side)
{
	cudaEvent_t fork = event_new(), join = event_new();
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	fill(words, 3, WORDS, stream);
	NEED(cudaEventRecord(fork, stream));
	NEED(cudaStreamWaitEvent(side, fork, 0));
	add(sums, words, WORDS, side);
	NEED(cudaEventRecord(join, side));
	NEED(cudaStreamWaitEvent(stream, join, 0));
	NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, stream));
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cudaGraphDestroy(graph));
	return exec;
}

int main(void)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	uint32_t *words, *sums, *results = malloc(WORDS_BYTES);
	int wrong;

	work_start();
	stream = stream_new();
	words = words_new();
	sums = words_new();
	NEED(cudaMemsetAsync(sums, 0, WORDS_BYTES, stream));
	exec = step_capture(words, sums, stream, stream_new());
	for (unsigned step = 0; step < STEPS; step++)
		NEED(cudaGraphLaunch(exec, stream));
	NEED(cudaStreamSynchronize(stream));
	if (!results)
		return 9;
	NEED(cudaMemcpy(results, sums, WORDS_BYTES, cudaMemcpyDeviceToHost));
	wrong = results[WORDS - 1] != 3 * STEPS;
	free(results);
	return wrong;
}
