/* A memset on the default stream of memory that another stream may still be reading.
 * settings: hazards:on
 * hazard: unordered_write in clear
 */
#include "tests/labelled/two_streams.h"

static APART void clear(uint32_t *words)
{
	NEED(cudaMemset(words, 0, WORDS_BYTES));
}

int main(void)
{
	uint32_t *words = words_new();
	void *results;

	start();
	NEED(cudaMallocHost(&results, WORDS_BYTES));
	for (int i = 0; i < 4; i++) {
		NEED(cudaMemcpyAsync(results, words, WORDS_BYTES, cudaMemcpyDeviceToHost, first));
		clear(words);
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
