/* Pinned memory is given back while a copy reads it.
 * settings: hazards:on
 * hazard: pinned_freed in give_back
 */
#include "tests/labelled/two_streams.h"

static APART void give_back(void *batch)
{
	NEED(cudaFreeHost(batch));
}

int main(void)
{
	uint32_t *words = words_new();
	void *batch;

	start();
	for (int i = 0; i < 3; i++) {
		NEED(cudaHostAlloc(&batch, WORDS_BYTES, cudaHostAllocDefault));
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		give_back(batch);
		NEED(cudaHostAlloc(&batch, WORDS_BYTES, cudaHostAllocDefault));
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		NEED(cudaEventRecord(event, first));
		NEED(cudaEventSynchronize(event));
		NEED(cudaFreeHost(batch));
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
