/* One place fetches single values into pageable memory and whole results into pinned memory: what it reads is no single value.
 * finds: to-host in take
 */
#include "tests/labelled/label.h"

static APART void take(void *to, const uint32_t *words, size_t size_bytes, cudaStream_t stream)
{
	NEED(cudaMemcpyAsync(to, words, size_bytes, cudaMemcpyDeviceToHost, stream));
	NEED(cudaStreamSynchronize(stream));
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), value, sum = 0;
	void *results;

	NEED(cudaMallocHost(&results, WORDS_BYTES));
	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		bool single = i % 2 == 0;

		busy(words, stream);
		take(single ? &value : results, words, single ? sizeof(value) : WORDS_BYTES, stream);
		sum += single ? value : *(uint32_t *)results;
	}
	return sum == 0;
}
