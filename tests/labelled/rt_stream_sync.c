/* The host waits for a stream in each step, and then takes its time.
 * finds: stream-sync in wait_for_stream
 */
#include "tests/labelled/label.h"

static APART void wait_for_stream(cudaStream_t stream)
{
	NEED(cudaStreamSynchronize(stream));
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		busy(words, stream);
		wait_for_stream(stream);
		host_works();
	}
	return 0;
}
