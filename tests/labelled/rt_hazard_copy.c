/* A batch is copied on one stream and used on another that does not wait for the copy.
 * settings: hazards:on
 * hazard: unordered_write in use
 */
#include "tests/labelled/two_streams.h"

static APART void use(uint32_t *words)
{
	kernel_fill(words, 1, 16, second);
}

int main(void)
{
	uint32_t *words = words_new();
	void *batch;

	start();
	NEED(cudaMallocHost(&batch, WORDS_BYTES));
	for (int i = 0; i < 4; i++) {
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		use(words);
		NEED(cudaStreamSynchronize(second));
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
