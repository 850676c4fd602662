/* The same with an event between them, and one for the way back; two streams that read the same memory; halves of one block
 * that two streams fill.
 * settings: hazards:on
 */
#include "tests/labelled/two_streams.h"

static void then(cudaStream_t before, cudaStream_t after)
{
	NEED(cudaEventRecord(event, before));
	NEED(cudaStreamWaitEvent(after, event, 0));
}

int main(void)
{
	uint32_t *words = words_new(), *sums = words_new(), *halves = words_new();
	char *batch;

	start();
	NEED(cudaMallocHost((void **)&batch, WORDS_BYTES));
	for (int i = 0; i < STEPS; i++) {
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		then(first, second);
		kernel_add(sums, words, 16, second);
		then(second, first);
		NEED(cudaMemcpyAsync(halves, batch, WORDS_BYTES / 2, cudaMemcpyHostToDevice, first));
		NEED(cudaMemcpyAsync(halves + WORDS / 2, batch, WORDS_BYTES / 2, cudaMemcpyHostToDevice, second));
		kernel_fill(halves + WORDS / 2, 1, 16, second);
		then(second, first);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
