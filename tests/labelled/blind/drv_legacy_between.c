/* Statistics are cleared on the legacy default stream between the work of two blocking streams, which could have run side by side.
 *
 * finds: default-stream in clear_statistics */
#define WORK_DRIVER
#include "tests/labelled/blind/work.h"

static APART void clear_statistics(uint32_t *statistics)
{
	NEED(cuMemsetD32Async(device(statistics), 0, 1024, NULL));
}

int main(void)
{
	CUstream left, right;
	uint32_t *left_words, *right_words, *statistics;

	work_start();
	NEED(cuStreamCreate(&left, CU_STREAM_DEFAULT));
	NEED(cuStreamCreate(&right, CU_STREAM_DEFAULT));
	left_words = words_new();
	right_words = words_new();
	statistics = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		busy(left_words, left);
		clear_statistics(statistics);
		busy(right_words, right);
	}
	NEED(cuCtxSynchronize());
	return 0;
}
