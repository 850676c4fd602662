/* Each step sends a batch by cudaMemcpy, pinned as it is.
 * finds: to-device in send
 */
#include "tests/labelled/label.h"

static APART void send(uint32_t *words, const void *batch)
{
	NEED(cudaMemcpy(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice));
}

int main(void)
{
	uint32_t *words = words_new();
	void *batch;

	kernels_register();
	NEED(cudaMallocHost(&batch, WORDS_BYTES));
	for (int i = 0; i < STEPS; i++) {
		send(words, batch);
		busy(words, NULL);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
