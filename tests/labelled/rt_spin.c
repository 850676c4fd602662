/* The host asks again and again whether an event is done.
 * finds: spin in ask
 */
#include "tests/labelled/label.h"

static APART void ask(cudaEvent_t event)
{
	while (cudaEventQuery(event) == cudaErrorNotReady)
		;
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
		kernel_delay(200, stream);
		NEED(cudaEventRecord(event, stream));
		ask(event);
	}
	return 0;
}
