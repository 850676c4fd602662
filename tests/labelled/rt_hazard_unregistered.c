/* Host memory that is no longer registered: copies have read it when they return, so that others may write it.
 * settings: hazards:on
 */
#include "tests/labelled/two_streams.h"

static _Alignas(4096) char batch[WORDS_BYTES];

int main(void)
{
	uint32_t *words = words_new(), *sums = words_new();

	start();
	NEED(cudaHostRegister(batch, WORDS_BYTES, 0));
	NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, first));
	NEED(cudaDeviceSynchronize());
	NEED(cudaHostUnregister(batch));
	for (int i = 0; i < 2; i++) {
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, second));
		NEED(cudaMemcpyAsync(batch, sums, WORDS_BYTES, cudaMemcpyDeviceToHost, first));
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
