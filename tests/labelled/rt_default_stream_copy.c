/* A copy of device memory on the default stream in each step, between kernels of two streams that it holds up.
 * finds: default-stream in clear
 */
#include "tests/labelled/label.h"

static APART void clear(uint32_t *words)
{
	NEED(cudaMemcpy(words, words + WORDS / 2, WORDS_BYTES / 2, cudaMemcpyDeviceToDevice));
}

int main(void)
{
	uint32_t *words[3] = {words_new(), words_new(), words_new()};
	cudaStream_t streams[2];

	kernels_register();
	NEED(cudaStreamCreate(&streams[0]));
	NEED(cudaStreamCreate(&streams[1]));
	for (int i = 0; i < STEPS; i++) {
		busy(words[0], streams[0]);
		clear(words[2]);
		busy(words[1], streams[1]);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
