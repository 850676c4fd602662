/* One wait for the device at the end of each step, meant as such; the next step's work follows at once. No problem, as the
 * documentation says: the device was busy up to it and is again right afterwards. */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART void step_end(void)
{
	NEED(cuCtxSynchronize());
}

int main(void)
{
	CUstream stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		for (unsigned layer = 0; layer < 8; layer++)
			fill(words, layer, WORDS, stream);
		step_end();
	}
	return 0;
}
