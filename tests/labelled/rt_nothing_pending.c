/* The host waits again and again for what it has waited for already.
 * finds: stream-sync in first_wait
 * normal: stream-sync in second_wait
 * normal: event-sync in third_wait
 * normal: device-sync in last_wait
 */
#include "tests/labelled/label.h"

static APART void first_wait(cudaStream_t stream)
{
	NEED(cudaStreamSynchronize(stream));
	host_works();
}

static APART void second_wait(cudaStream_t stream)
{
	NEED(cudaStreamSynchronize(stream));
}

static APART void third_wait(cudaEvent_t event)
{
	NEED(cudaEventSynchronize(event));
}

static APART void last_wait(void)
{
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	cudaEvent_t event;

	kernels_register();
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (int i = 0; i < STEPS; i++) {
		busy(words, stream);
		NEED(cudaEventRecord(event, stream));
		first_wait(stream);
		second_wait(stream);
		third_wait(event);
		last_wait();
	}
	return 0;
}
