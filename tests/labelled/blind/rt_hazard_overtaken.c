/* The copy stream waits for an event, but for one that was recorded before the last piece of work that uses the buffer: the order
 * that looks as if it were there is too old.
 *
 * settings: hazards:on
 * hazard: unordered-write in target_refill */
#include "tests/labelled/blind/work.h"

static APART void target_refill(uint32_t *target, const void *host, cudaStream_t copies)
{
	NEED(cudaMemcpyAsync(target, host, WORDS_BYTES, cudaMemcpyHostToDevice, copies));
}

int main(void)
{
	cudaStream_t copies, compute;
	cudaEvent_t used, copied;
	uint32_t *target, *sums;
	void *host;

	work_start();
	copies = stream_new();
	compute = stream_new();
	used = event_new();
	copied = event_new();
	target = words_new();
	sums = words_new();
	NEED(cudaMallocHost(&host, WORDS_BYTES));
	memset(host, 1, WORDS_BYTES);
	for (unsigned step = 0; step < STEPS; step++) {
		add(sums, target, WORDS, compute);
		NEED(cudaEventRecord(used, compute));
		add(target, sums, WORDS, compute);
		NEED(cudaStreamWaitEvent(copies, used, 0));
		target_refill(target, host, copies);
		NEED(cudaEventRecord(copied, copies));
		NEED(cudaStreamWaitEvent(compute, copied, 0));
	}
	NEED(cudaDeviceSynchronize());
	NEED(cudaFreeHost(host));
	return 0;
}
