/* Memory is freed on the stream that it came from, while another one still uses it.
 * settings: hazards:on
 * hazard: freed_in_use in give_back
 */
#include "tests/labelled/two_streams.h"

static APART void give_back(uint32_t *words)
{
	NEED(cudaFreeAsync(words, first));
}

int main(void)
{
	uint32_t *words;

	start();
	for (int i = 0; i < 4; i++) {
		NEED(cudaMallocAsync((void **)&words, WORDS_BYTES, first));
		NEED(cudaEventRecord(event, first));
		NEED(cudaStreamWaitEvent(second, event, 0));
		kernel_fill(words, 1, 16, second);
		give_back(words);
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
