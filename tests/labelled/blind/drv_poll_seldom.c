/* An event is asked for once in each round of other work, and the round goes on whatever the answer is: progress is looked at, not
 * awaited. */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART int looks_done(CUevent done)
{
	CUresult answer = cuEventQuery(done);

	if (answer != CUDA_ERROR_NOT_READY)
		NEED(answer);
	return answer == CUDA_SUCCESS;
}

int main(void)
{
	CUstream stream;
	CUevent done;
	uint32_t *words;
	unsigned finished = 0;

	work_start();
	stream = stream_new();
	done = event_new();
	words = words_new();
	NEED(cuEventRecord(done, stream));
	for (unsigned round = 0; round < 3 * STEPS; round++) {
		host_works();
		host_works();
		if (looks_done(done)) {
			finished++;
			fill(words, round, WORDS, stream);
			fill(words, round, WORDS, stream);
			fill(words, round, WORDS, stream);
			NEED(cuEventRecord(done, stream));
		}
	}
	NEED(cuStreamSynchronize(stream));
	return finished == 0;
}
