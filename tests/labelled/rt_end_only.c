/* The host waits once, at the end.
 * normal: device-sync in end_of_all
 */
#include "tests/labelled/label.h"

static APART void end_of_all(void)
{
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	kernels_register();
	for (int i = 0; i < STEPS; i++)
		busy(words, stream);
	end_of_all();
	return 0;
}
