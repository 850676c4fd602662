/* The host waits at the end of each of several timed parts: the device has work up to then, and again at once.
 * normal: device-sync in end_of_part
 */
#include "tests/labelled/label.h"

static APART void end_of_part(void)
{
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	kernels_register();
	for (int part = 0; part < 8; part++) {
		for (int i = 0; i < 20; i++)
			busy(words, stream);
		end_of_part();
	}
	return 0;
}
