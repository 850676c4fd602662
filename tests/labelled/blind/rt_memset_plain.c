/* cudaMemset of device memory and cudaMemcpy within the device, in each step: not asynchronous by name, but neither waits for
 * anything. All on one stream, the default one. */
#include "tests/labelled/blind/work.h"

static APART void accumulators_clear(uint32_t *sums)
{
	NEED(cudaMemset(sums, 0, WORDS_BYTES));
}

static APART void state_keep(uint32_t *kept, const uint32_t *sums)
{
	NEED(cudaMemcpy(kept, sums, WORDS_BYTES, cudaMemcpyDeviceToDevice));
}

int main(void)
{
	uint32_t *words, *sums, *kept;

	work_start();
	words = words_new();
	sums = words_new();
	kept = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		accumulators_clear(sums);
		busy(words, NULL);
		add(sums, words, WORDS, NULL);
		state_keep(kept, sums);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
