/* A pinned buffer is given back while the copy that reads it waits behind other work. Only that free may be named: with
 * free_sync:never nobody waits for the copy.
 *
 * settings: hazards:on,free_sync:never
 * hazard: pinned-freed in batch_drop
 * may: host-memory-calls in main */
#include "tests/labelled/blind/work.h"

static APART void batch_drop(void *batch)
{
	NEED(cudaFreeHost(batch));
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < 8; step++) {
		void *batch;

		NEED(cudaMallocHost(&batch, WORDS_BYTES));
		memset(batch, (int)step, WORDS_BYTES);
		busy(words, stream);
		NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, stream));
		batch_drop(batch);
	}
	NEED(cudaStreamSynchronize(stream));
	return 0;
}
