/* The host waits for the device in each step, and then takes its time.
 * finds: device-sync in wait_for_all
 */
#include "tests/labelled/label.h"

static APART void wait_for_all(void)
{
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		busy(words, stream);
		wait_for_all();
		host_works();
	}
	return 0;
}
