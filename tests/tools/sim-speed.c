/* sim-speed: how many operations a second the simulated GPU does. An operation is one driver call, or one queued
 * operation that runs to its end. Time is that of the processor, so that it holds on a busy machine.
 *
 *   scripts/sim-run --no-shim build/sim-speed [SECONDS]
 *
 * Four streams that fill, add, copy and set small announced blocks, record and wait for events, allocate and free in
 * the order of the stream, and are synchronized now and then: what the tests do all day, with the shadow on. */
#include <time.h>

#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

enum { STREAMS = 4, BLOCKS = 64, WORDS = 64, ROUNDS = 256 };

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static uint32_t *blocks[BLOCKS];

static double seconds_used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void work(unsigned round)
{
	cudaStream_t stream = streams[round % STREAMS], other = streams[(round + 1) % STREAMS];
	uint32_t *a = blocks[round % BLOCKS], *b = blocks[(round + STREAMS) % BLOCKS], *own;

	kernel_fill(a, round, WORDS, stream);
	kernel_add(b, a, WORDS, stream);
	NEED(cudaMemcpyAsync(a, b, WORDS * sizeof(*a), cudaMemcpyDeviceToDevice, stream));
	NEED(cudaMemsetAsync(b, 0, WORDS * sizeof(*b), stream));
	NEED(shadow_malloc_async((void **)&own, WORDS * sizeof(*own), stream));
	kernel_fill(own, round, WORDS, stream);
	NEED(shadow_free_async(own, stream));
	NEED(cudaEventRecord(events[round % STREAMS], stream));
	NEED(cudaStreamWaitEvent(other, events[round % STREAMS], 0));
	if (round % 32 == 31)
		NEED(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 1, from, used;
	sim_operations_fn *operations;
	unsigned long before;

	kernels_register();
	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i] = NULL;
		NEED(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		NEED(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		NEED(shadow_malloc((void **)&blocks[i], WORDS * sizeof(*blocks[i])));
	*(void **)&operations = sim_find("sim_operations");
	if (!operations)
		return 9;
	from = seconds_used();
	before = operations();
	do {
		for (unsigned round = 0; round < ROUNDS; round++)
			work(round);
		NEED(cudaDeviceSynchronize());
		used = seconds_used() - from;
	} while (used < limit);
	printf("%.0f simulated operations a second\n", (double)(operations() - before) / used);
	return 0;
}
