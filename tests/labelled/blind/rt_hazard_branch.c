/* A side stream refills a buffer that the compute stream reads and writes. One of two branches forgets to wait for that.
 *
 * settings: hazards:on
 * hazard: unordered-write in refill_now */
#include "tests/labelled/blind/work.h"

static APART void refill_now(uint32_t *words, cudaStream_t side)
{
	NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, side));
}

static APART void refill_later(uint32_t *words, cudaStream_t side, cudaEvent_t used)
{
	NEED(cudaStreamWaitEvent(side, used, 0));
	NEED(cudaMemsetAsync(words, 0, WORDS_BYTES, side));
}

int main(void)
{
	cudaStream_t compute, side;
	cudaEvent_t used, filled;
	uint32_t *words;

	work_start();
	compute = stream_new();
	side = stream_new();
	used = event_new();
	filled = event_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		busy(words, compute);
		NEED(cudaEventRecord(used, compute));
		if (step % 4 == 3)
			refill_now(words, side);
		else
			refill_later(words, side, used);
		NEED(cudaEventRecord(filled, side));
		NEED(cudaStreamWaitEvent(compute, filled, 0));
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
