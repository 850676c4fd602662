/* Host memory is pinned and given back in each step, where no cache keeps it.
 * settings: pinned_cache:False
 * finds: host-memory in send_fresh
 */
#include "tests/labelled/label.h"

static APART void send_fresh(uint32_t *words, cudaStream_t stream)
{
	void *batch;

	NEED(cudaHostAlloc(&batch, 4 * WORDS_BYTES, cudaHostAllocDefault));
	memset(batch, 1, WORDS_BYTES);
	NEED(cudaMemcpyAsync(words, batch, WORDS_BYTES, cudaMemcpyHostToDevice, stream));
	busy(words, stream);
	NEED(cudaFreeHost(batch));
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	kernels_register();
	for (int i = 0; i < STEPS; i++)
		send_fresh(words, stream);
	return 0;
}
