/* Host time of calls that wait, of launches and of event records on the simulated GPU, where none of them has anything to do:
 * what differs between two runs is what gpushim costs. Prints nanoseconds a call, the least of many batches; the last launches go to two
 * streams in turn.
 *
 *   wait-cost [BATCHES]      scripts/wait-cost runs it by turns with and without gpushim */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/preload/kernel.h"

enum { CALLS = 200 };

static cudaStream_t streams[2];
static cudaEvent_t event;
static uint32_t *words;

static void wait_stream(void)
{
	NEED(cudaStreamSynchronize(streams[0]));
}

static void wait_event(void)
{
	NEED(cudaEventSynchronize(event));
}

static void wait_all(void)
{
	NEED(cudaDeviceSynchronize());
}

static void copy(void)
{
	uint32_t value;

	NEED(cudaMemcpy(&value, words, sizeof(value), cudaMemcpyDeviceToHost));
}

static void launch(void)
{
	kernel_fill(words, 1, 1, streams[0]);
}

static void launch_by_turns(void)
{
	static unsigned turn;

	kernel_fill(words, 1, 1, streams[turn++ % 2]);
}

static void record(void)
{
	NEED(cudaEventRecord(event, streams[0]));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(const char *name, void (*call)(void), int batches)
{
	uint64_t least_ns = UINT64_MAX;

	for (int batch = 0; batch < batches; batch++) {
		uint64_t start_ns = now_ns(), ns;

		for (int i = 0; i < CALLS; i++)
			call();
		ns = now_ns() - start_ns;
		if (ns < least_ns)
			least_ns = ns;
		NEED(cudaDeviceSynchronize());
	}
	printf("%s %.1f\n", name, (double)least_ns / CALLS);
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 100;

	kernels_register();
	streams[0] = stream_new();
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	NEED(cudaMalloc((void **)&words, 4096));
	launch();
	record();
	measure("cudaStreamSynchronize", wait_stream, batches);
	measure("cudaEventSynchronize", wait_event, batches);
	measure("cudaDeviceSynchronize", wait_all, batches);
	measure("cudaMemcpy of 4 bytes to the host", copy, batches);
	measure("launch, one stream", launch, batches);
	streams[1] = stream_new();
	measure("launch, two streams", launch_by_turns, batches);
	measure("cudaEventRecord", record, batches);
	return 0;
}
