/* A stream waits for an event that was recorded before the last kernel which it should wait for.
 * settings: hazards:on
 * hazard: unordered_write in clear
 */
#include "tests/labelled/two_streams.h"

static APART void clear(uint32_t *words)
{
	NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, second));
}

int main(void)
{
	uint32_t *words = words_new();

	start();
	for (int i = 0; i < 5; i++) {
		kernel_fill(words, 1, 16, first);
		NEED(cudaEventRecord(event, first));
		kernel_fill(words, 2, 16, first);
		NEED(cudaStreamWaitEvent(second, event, 0));
		clear(words);
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
