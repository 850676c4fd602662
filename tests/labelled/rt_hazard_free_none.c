/* The same where the stream of the free waits for the other one.
 * settings: hazards:on
 */
#include "tests/labelled/two_streams.h"

int main(void)
{
	uint32_t *words;

	start();
	for (int i = 0; i < STEPS; i++) {
		NEED(cudaMallocAsync((void **)&words, WORDS_BYTES, first));
		NEED(cudaEventRecord(event, first));
		NEED(cudaStreamWaitEvent(second, event, 0));
		kernel_fill(words, 1, 16, second);
		NEED(cudaEventRecord(event, second));
		NEED(cudaStreamWaitEvent(first, event, 0));
		NEED(cudaFreeAsync(words, first));
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
