/* The end of each step is awaited by asking for an event again and again; giving the processor away in between makes it no
 * better.
 *
 * finds: spinning in wait_politely */
#include <sched.h>

#include "tests/labelled/blind/work.h"

static APART void wait_politely(cudaEvent_t done)
{
	cudaError_t answer;

	while ((answer = cudaEventQuery(done)) == cudaErrorNotReady)
		sched_yield();
	NEED(answer);
}

int main(void)
{
	cudaStream_t stream;
	cudaEvent_t done;
	uint32_t *words;

	work_start();
	stream = stream_new();
	done = event_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		fill(words, step, WORDS / 16, stream);
		delay(2000, stream);
		NEED(cudaEventRecord(done, stream));
		wait_politely(done);
		host_works();
	}
	return 0;
}
