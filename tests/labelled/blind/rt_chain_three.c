/* Three streams in a chain: the last one clears and frees what the first one has used, and no event leads from the first to the
 * last. One event object serves all edges; a wait means what was recorded when it was called. All is in order, and nothing may
 * be said. The simulated device works in the order of submission here: by its usual policy it works when somebody asks it, and gpushim's
 * allocator asks, which would count as the time of cudaMallocAsync.
 *
 * policy: in-order
 * settings: hazards:on */
#include "tests/labelled/blind/work.h"

enum { SCRATCH_BYTES = 256 << 10 };

static void edge(cudaEvent_t event, cudaStream_t from, cudaStream_t to)
{
	NEED(cudaEventRecord(event, from));
	NEED(cudaStreamWaitEvent(to, event, 0));
}

int main(void)
{
	cudaStream_t first, second, third;
	cudaEvent_t event;
	uint32_t *inputs, *sums;

	work_start();
	first = stream_new();
	second = stream_new();
	third = stream_new();
	event = event_new();
	inputs = words_new();
	sums = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		void *scratch;

		NEED(cudaMallocAsync(&scratch, SCRATCH_BYTES, first));
		NEED(cudaMemcpyAsync(scratch, inputs, SCRATCH_BYTES, cudaMemcpyDeviceToDevice, first));
		fill(inputs, step, WORDS, first);
		edge(event, first, second);
		add(sums, inputs, WORDS, second);
		add(sums, scratch, SCRATCH_BYTES / 4, second);
		edge(event, second, third);
		NEED(cudaMemsetAsync(inputs, 0, WORDS_BYTES, third));
		NEED(cudaFreeAsync(scratch, third));
		edge(event, third, first);
	}
	NEED(cudaDeviceSynchronize());
	return 0;
}
