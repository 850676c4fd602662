/* Pinned memory is allocated for each batch, always a bit more than ever before, and given back in the next step while work is
 * pending. No cache can serve that.
 *
 * finds: host-memory-calls in stage_batch */
#include "tests/labelled/blind/work.h"

static void *batch;

static APART size_t stage_batch(unsigned step)
{
	size_t bytes = (1 << 19) + step * (32 << 10);

	if (batch)
		NEED(cudaFreeHost(batch));
	NEED(cudaHostAlloc(&batch, bytes, cudaHostAllocDefault));
	memset(batch, (int)step, bytes);
	return bytes;
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		size_t bytes = stage_batch(step);

		NEED(cudaMemcpyAsync(words, batch, bytes, cudaMemcpyHostToDevice, stream));
		busy(words, stream);
	}
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaFreeHost(batch));
	return 0;
}
