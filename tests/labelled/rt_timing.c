/* Each step is timed with events.
 * normal: timing in time_step
 */
#include "tests/labelled/label.h"

static APART float time_step(uint32_t *words, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
{
	float ms = 0;

	NEED(cudaEventRecord(begin, stream));
	busy(words, stream);
	NEED(cudaEventRecord(end, stream));
	NEED(cudaEventSynchronize(end));
	NEED(cudaEventElapsedTime(&ms, begin, end));
	host_works();
	return ms;
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	cudaEvent_t begin, end;

	kernels_register();
	NEED(cudaEventCreate(&begin));
	NEED(cudaEventCreate(&end));
	for (int i = 0; i < STEPS; i++)
		time_step(words, stream, begin, end);
	return 0;
}
