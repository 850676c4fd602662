/* Two steps in flight: before a step begins, the one before the last one is awaited by its event. The device always has the last
 * one to do, so nothing is lost. */
#include "tests/labelled/blind/work.h"

static APART void older_step_await(cudaEvent_t done)
{
	NEED(cudaEventSynchronize(done));
}

int main(void)
{
	cudaStream_t stream;
	cudaEvent_t done[2];
	uint32_t *words;

	work_start();
	stream = stream_new();
	done[0] = event_new();
	done[1] = event_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		if (step >= 2)
			older_step_await(done[step % 2]);
		busy(words, stream);
		busy(words, stream);
		NEED(cudaEventRecord(done[step % 2], stream));
	}
	NEED(cudaStreamSynchronize(stream));
	return 0;
}
