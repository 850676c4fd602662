/* One pinned buffer stages both ways: while its upload is still pending, another stream copies results into it.
 *
 * settings: hazards:on
 * hazard: unordered-write in fetch */
#include "tests/labelled/blind/work.h"

static APART void upload(uint32_t *inputs, const void *staging, cudaStream_t up)
{
	NEED(cudaMemcpyAsync(inputs, staging, WORDS_BYTES, cudaMemcpyHostToDevice, up));
}

static APART void fetch(void *staging, const uint32_t *results, cudaStream_t down)
{
	NEED(cudaMemcpyAsync(staging, results, WORDS_BYTES, cudaMemcpyDeviceToHost, down));
}

int main(void)
{
	cudaStream_t up, down;
	cudaEvent_t fetched;
	uint32_t *inputs, *results;
	void *staging;

	work_start();
	up = stream_new();
	down = stream_new();
	fetched = event_new();
	inputs = words_new();
	results = words_new();
	NEED(cudaMallocHost(&staging, WORDS_BYTES));
	memset(staging, 1, WORDS_BYTES);
	for (unsigned step = 0; step < STEPS; step++) {
		upload(inputs, staging, up);
		busy(inputs, up);
		fetch(staging, results, down);
		NEED(cudaEventRecord(fetched, down));
		NEED(cudaStreamWaitEvent(up, fetched, 0));
	}
	NEED(cudaDeviceSynchronize());
	NEED(cudaFreeHost(staging));
	return 0;
}
