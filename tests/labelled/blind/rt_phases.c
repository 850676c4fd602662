/* Training and evaluation by turns, without a wait inside of either: one wait and one copy of a result to pinned memory where a phase
 * ends, three times in all. No problem: hundreds of launches lie between two waits. */
#include "tests/labelled/blind/work.h"

enum { PHASES = 3, PHASE_STEPS = 100 };

static APART uint32_t phase_end(uint32_t *result, const uint32_t *words, cudaStream_t stream)
{
	NEED(cudaMemcpyAsync(result, words, sizeof(*result), cudaMemcpyDeviceToHost, stream));
	NEED(cudaStreamSynchronize(stream));
	return *result;
}

static APART void train(uint32_t *words, uint32_t *sums, cudaStream_t stream)
{
	for (uint32_t step = 1; step <= PHASE_STEPS; step++) {
		fill(words, step, WORDS / 4, stream);
		add(sums, words, WORDS / 4, stream);
	}
}

static APART void evaluate(uint32_t *words, uint32_t *sums, cudaStream_t stream)
{
	for (unsigned step = 0; step < PHASE_STEPS; step++) {
		add(words, sums, WORDS / 8, stream);
		add(words, sums, WORDS / 8, stream);
		delay(10, stream);
	}
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *words, *sums, *result, last = 0;

	work_start();
	stream = stream_new();
	words = words_new();
	sums = words_new();
	NEED(cudaMallocHost((void **)&result, sizeof(*result)));
	NEED(cudaMemsetAsync(sums, 0, WORDS_BYTES, stream));
	for (unsigned phase = 0; phase < PHASES; phase++) {
		train(words, sums, stream);
		evaluate(words, sums, stream);
		last = phase_end(result, words, stream);
	}
	NEED(cudaFreeHost(result));
	return last == 0;
}
