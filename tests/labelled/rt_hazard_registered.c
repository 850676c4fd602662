/* Registered memory is given back while a copy reads it.
 * settings: hazards:on
 * hazard: pinned_freed in give_back
 */
#include "tests/labelled/two_streams.h"

static APART void give_back(void *batch)
{
	NEED(cudaHostUnregister(batch));
}

int main(void)
{
	uint32_t *words = words_new();
	void *batch = malloc(WORDS_BYTES);

	start();
	for (int i = 0; i < 3; i++) {
		NEED(cudaHostRegister(batch, WORDS_BYTES, cudaHostRegisterDefault));
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		give_back(batch);
		NEED(cudaHostRegister(batch, WORDS_BYTES, cudaHostRegisterDefault));
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
		NEED(cudaEventRecord(event, first));
		NEED(cudaEventSynchronize(event));
		NEED(cudaHostUnregister(batch));
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
