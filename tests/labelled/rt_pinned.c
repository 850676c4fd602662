/* Each step sends a batch from pinned memory, and fetches a result into pinned memory: nobody waits.
 * normal: device-sync in main
 */
#include "tests/labelled/label.h"

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	void *batch, *results;

	kernels_register();
	NEED(cudaMallocHost(&batch, WORDS_BYTES));
	NEED(cudaMallocHost(&results, WORDS_BYTES));
	for (int i = 0; i < STEPS; i++) {
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, stream));
		busy(words, stream);
		NEED(cudaMemcpyAsync(results, words, WORDS_BYTES, cudaMemcpyDeviceToHost, stream));
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
