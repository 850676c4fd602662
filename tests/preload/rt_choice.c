/* What the scheduler of the simulated device is free to choose. argv[1]:
 *
 *   order  three streams of rising priority with ten kernels each, all ready at once; then calls that wait for nothing.
 *          Prints the streams in the order in which their kernels ran meanwhile, and in all.
 *   race   a kernel expects zeros in a buffer that another stream fills after a while, and nobody waits for that: goes
 *          wrong only if the filling stream is ahead. Other streams are busy with something else. Ends with 3 then. */
#include "tests/preload/kernel.h"

enum { STREAMS = 3, KERNELS = 10, CALLS = 60, WORDS = 64, DELAY = 3 };

static char ran[STREAMS * KERNELS + 1];

static void note(const struct sim_launch *launch)
{
	ran[strlen(ran)] = (char)('0' + *(uint32_t *)launch->params[0]);
}

static void order(void)
{
	static const char kernel;
	cudaStream_t gate = stream_new(), streams[STREAMS];
	sim_kernel_register_fn *add = (sim_kernel_register_fn *)sim_find("sim_kernel_register");
	sim_cudart_register_fn *name = (sim_cudart_register_fn *)sim_find("sim_cudart_register");
	cudaEvent_t open;

	add("note", note, 1, (const size_t[]){4});
	name(&kernel, "note");
	NEED(cudaEventCreateWithFlags(&open, cudaEventDisableTiming));
	for (int i = 0; i < STREAMS; i++)
		NEED(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, -i));
	kernel_delay(1000, gate);
	NEED(cudaEventRecord(open, gate));
	for (uint32_t i = 0; i < STREAMS; i++)
		NEED(cudaStreamWaitEvent(streams[i], open, 0));
	for (uint32_t i = 0; i < STREAMS * KERNELS; i++) {
		uint32_t number = i % STREAMS;
		void *params[] = {&number};

		NEED(cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, params, 0, streams[number]));
	}
	NEED(cudaStreamSynchronize(gate));
	for (unsigned i = 0; i < CALLS; i++) {
		size_t free_bytes, total_bytes;

		NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
	}
	printf("%s\n", ran);
	NEED(cudaDeviceSynchronize());
	printf("%s\n", ran);
}

static int race(void)
{
	cudaStream_t filling = stream_new(), reading = stream_new(), others[2] = {stream_new(), stream_new()};
	uint32_t *errors = errors_new(), *words, *noise;

	NEED(cudaMalloc((void **)&words, WORDS * sizeof(*words)));
	NEED(cudaMalloc((void **)&noise, WORDS * sizeof(*noise)));
	NEED(cudaMemset(words, 0, WORDS * sizeof(*words)));
	NEED(cudaDeviceSynchronize());
	kernel_delay(DELAY, filling);
	kernel_fill(words, 1, WORDS, filling);
	for (unsigned i = 0; i < KERNELS; i++) {
		kernel_fill(noise, i, WORDS, others[i % 2]);
		kernel_fill(noise, i, WORDS, reading);
	}
	kernel_verify(words, 0, WORDS, errors, reading);
	NEED(cudaStreamSynchronize(reading));
	if (errors_read(errors) == 0)
		return 0;
	printf("the reader was overtaken\n");
	return 3;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kernels_register();
	if (strcmp(what, "race") == 0)
		return race();
	order();
	return 0;
}
