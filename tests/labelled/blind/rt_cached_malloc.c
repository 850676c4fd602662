/* Scratch memory of the same size is allocated and freed in each step, at gpushim's default settings: its cache serves it, and cudaFree
 * waits for nothing, since no copy to the host is pending. Where nothing is lost, nothing may be called a problem. */
#include "tests/labelled/blind/work.h"

enum { SCRATCH_BYTES = 256 << 10 };

static APART void *scratch_new(void)
{
	void *scratch;

	NEED(cudaMalloc(&scratch, SCRATCH_BYTES));
	return scratch;
}

static APART void scratch_free(void *scratch)
{
	NEED(cudaFree(scratch));
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		void *scratch = scratch_new();

		NEED(cudaMemsetAsync(scratch, 0, SCRATCH_BYTES, stream));
		add(words, scratch, SCRATCH_BYTES / 4, stream);
		scratch_free(scratch);
	}
	NEED(cudaStreamSynchronize(stream));
	return 0;
}
