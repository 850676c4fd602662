/* Each step fetches a whole result, and waits for it.
 * finds: to-host in fetch
 */
#include "tests/labelled/label.h"

static APART void fetch(void *results, const uint32_t *words)
{
	NEED(cudaMemcpy(results, words, WORDS_BYTES, cudaMemcpyDeviceToHost));
}

int main(void)
{
	uint32_t *words = words_new();
	void *results = calloc(1, WORDS_BYTES);

	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		busy(words, NULL);
		fetch(results, words);
	}
	return 0;
}
