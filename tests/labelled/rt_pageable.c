/* Each step sends a batch from pageable memory, asynchronous in name only.
 * finds: pageable in send
 */
#include "tests/labelled/label.h"

static APART void send(uint32_t *words, const void *batch, cudaStream_t stream)
{
	NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, stream));
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	void *batch = calloc(1, WORDS_BYTES);

	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		send(words, batch, stream);
		busy(words, stream);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
