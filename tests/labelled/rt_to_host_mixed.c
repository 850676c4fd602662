/* One place fetches single values into pageable memory and whole results into pinned memory: what it reads is no single value.
 * finds: to-host in take
 */
#include "tests/labelled/label.h"

static APART void take(void *to, const uint32_t *words, size_t size_bytes)
{
	NEED(cudaMemcpy(to, words, size_bytes, cudaMemcpyDeviceToHost));
}

int main(void)
{
	uint32_t *words = words_new(), value, sum = 0;
	void *results;

	NEED(cudaMallocHost(&results, WORDS_BYTES));
	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		bool single = i % 2 == 0;

		busy(words, NULL);
		take(single ? &value : results, words, single ? sizeof(value) : WORDS_BYTES);
		sum += single ? value : *(uint32_t *)results;
	}
	return sum == 0;
}
