/* The end of each step is awaited by asking for the whole stream again and again.
 *
 * finds: spinning in drain_by_asking */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART unsigned drain_by_asking(CUstream stream)
{
	unsigned asked = 1;
	CUresult answer;

	while ((answer = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
		asked++;
	NEED(answer);
	return asked;
}

int main(void)
{
	CUstream stream;
	uint32_t *words;
	unsigned asked = 0;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		fill(words, step, WORDS / 16, stream);
		delay(2000, stream);
		asked += drain_by_asking(stream);
		host_works();
	}
	return asked <= STEPS;
}
