/* The host waits for an event in each step, and then takes its time.
 * finds: event-sync in wait_for_event
 */
#include "tests/labelled/label.h"

static APART void wait_for_event(cudaEvent_t event)
{
	NEED(cudaEventSynchronize(event));
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
		wait_for_event(event);
		host_works();
	}
	return 0;
}
