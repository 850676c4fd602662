/* A memset on one stream while a copy of another reads the memory.
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
	void *results;

	start();
	NEED(cudaMallocHost(&results, WORDS_BYTES));
	for (int i = 0; i < 5; i++) {
		NEED(cudaMemcpyAsync(results, words, WORDS_BYTES, cudaMemcpyDeviceToHost, first));
		clear(words);
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
