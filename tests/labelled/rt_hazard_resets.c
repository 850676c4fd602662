/* A memset while another stream uses the memory, after many streams that went with their contexts.
 * settings: hazards:on
 * hazard: unordered_write in clear
 */
#include "tests/labelled/two_streams.h"

static APART void clear(uint32_t *words)
{
	NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, second));
}

int main(void)
{
	uint32_t *words;

	kernels_register();
	for (int i = 0; i < 70; i++) {
		kernel_fill(NULL, 1, 0, stream_new());
		NEED(cudaDeviceReset());
	}
	words = words_new();
	start();
	kernel_fill(words, 1, 16, first);
	clear(words);
	NEED(cudaDeviceSynchronize());
	return 0;
}
