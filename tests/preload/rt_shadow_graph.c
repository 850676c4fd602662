/* Planted misuse of memory around graphs, and what looks like it: argv[1] says which. Prints how many errors the
 * simulated driver counted. The graph sets a buffer of the program and memory of its own, which it gives to the
 * program. */
#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

enum { WORDS = 1024, DELAY = 100000 };

static cudaStream_t streams[2];
static cudaGraphExec_t exec;
static uint32_t *buffer, *given;

static void graph_new(void)
{
	cudaGraph_t graph;

	NEED(cudaMalloc((void **)&buffer, WORDS * sizeof(*buffer)));
	shadow_owner(buffer, WORDS * sizeof(*buffer), SIM_SHADOW_ANY);
	NEED(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	NEED(cudaMemsetAsync(buffer, 0, WORDS * sizeof(*buffer), streams[0]));
	NEED(cudaMallocAsync((void **)&given, WORDS * sizeof(*given), streams[0]));
	NEED(cudaMemsetAsync(given, 0, WORDS * sizeof(*given), streams[0]));
	NEED(cudaStreamEndCapture(streams[0], &graph));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	kernel_delay(DELAY, streams[0]);
	NEED(cudaGraphLaunch(exec, streams[0]));
	kernel_fill(given, 1, WORDS, streams[0]);
}

static void relaunch(bool ordered)
{
	cudaEvent_t event;

	NEED(cudaFreeAsync(given, streams[ordered ? 0 : 1]));
	if (ordered) {
		NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
		NEED(cudaEventRecord(event, streams[0]));
		NEED(cudaStreamWaitEvent(streams[1], event, 0));
	}
	NEED(cudaGraphLaunch(exec, streams[1]));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kernels_register();
	streams[0] = stream_new();
	streams[1] = stream_new();
	graph_new();
	if (strcmp(what, "ordered") == 0) {
		relaunch(true);
	} else if (strcmp(what, "unordered") == 0) {
		relaunch(false);
	} else if (strcmp(what, "use-after-free") == 0) {
		NEED(cudaFreeAsync(given, streams[0]));
		kernel_fill(given, 1, WORDS, streams[0]);
	} else if (strcmp(what, "buffer") == 0) {
		shadow_end(buffer);
		shadow_owner(buffer, WORDS * sizeof(*buffer), streams[1]);
	} else if (strcmp(what, "buffer-ordered") == 0) {
		shadow_end(buffer);
		shadow_owner(buffer, WORDS * sizeof(*buffer), streams[0]);
	} else if (strcmp(what, "buffer-freed") == 0) {
		shadow_end(buffer);
		NEED(cudaFreeAsync(given, streams[0]));
		NEED(cudaGraphLaunch(exec, streams[0]));
	} else {
		return 2;
	}
	cudaDeviceSynchronize();
	printf("%lu errors\n", shadow_errors());
	return 0;
}
