/* Memory is freed at the end only, though by thirty calls in a loop, of which the first one waits for all the work: no part of what
 * the program does again and again.
 *
 * settings: backend:off */
#include "tests/labelled/blind/work.h"

enum { LAYER_BYTES = 256 << 10 };

static APART void weights_free(uint32_t **weights)
{
	for (unsigned layer = 0; layer < STEPS; layer++)
		NEED(cudaFree(weights[layer]));
}

int main(void)
{
	static uint32_t *weights[STEPS];
	cudaStream_t stream;

	work_start();
	stream = stream_new();
	for (unsigned layer = 0; layer < STEPS; layer++)
		NEED(cudaMalloc((void **)&weights[layer], LAYER_BYTES));
	for (unsigned step = 0; step < 4; step++)
		for (unsigned layer = 0; layer < STEPS; layer++)
			fill(weights[layer], step, LAYER_BYTES / 4, stream);
	weights_free(weights);
	return 0;
}
