/* Setting up copies thirty layers of weights from pageable memory and waits for the device after each; then come clean steps, and
 * the result once at the end. What is done once is no part of what the program does again and again, even where it is a loop. */
#include "tests/labelled/blind/work.h"

enum { LAYERS = 30, LAYER_BYTES = 256 << 10, LONG_RUN = 150 };

static APART void layer_load(uint32_t *layer, const void *weights)
{
	NEED(cudaMemcpy(layer, weights, LAYER_BYTES, cudaMemcpyHostToDevice));
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	static uint32_t *layers[LAYERS];
	static char weights[LAYER_BYTES];
	cudaStream_t stream;
	uint32_t *words, result;

	memset(weights, 1, sizeof(weights));
	work_start();
	for (unsigned i = 0; i < LAYERS; i++) {
		NEED(cudaMalloc((void **)&layers[i], LAYER_BYTES));
		layer_load(layers[i], weights);
	}
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < LONG_RUN; step++) {
		fill(words, step, WORDS / 4, stream);
		for (unsigned i = 0; i < LAYERS; i += 5)
			add(words, layers[i], LAYER_BYTES / 4, stream);
	}
	NEED(cudaMemcpyAsync(&result, words, sizeof(result), cudaMemcpyDeviceToHost, stream));
	NEED(cudaStreamSynchronize(stream));
	return result == 0;
}
