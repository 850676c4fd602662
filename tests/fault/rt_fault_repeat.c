/* Work that repeats, for the sweep of faults: with graph:auto and submit:thread it is put off, and graphs make most launches.
 * Some notes are of what was submitted, which may fail later then. */
#include <cuda_runtime_api.h>

#include "tests/fault/sweep.h"
#include "tests/fault/work.h"

enum { ROUNDS = 2, REPEATS = 16, FEW = 256 };

#define FEW_BYTES (FEW * sizeof(uint32_t))

static bool launch(void (*stub)(void), void **params, cudaStream_t stream)
{
	return STEP(cudaLaunchKernel((const void *)stub, (dim3){1, 1, 1}, (dim3){128, 1, 1}, params, 0, stream));
}

static bool fill(uint32_t *words, uint32_t value, cudaStream_t stream)
{
	return launch(kernel_stub_fill, (void *[]){&words, &value, &(uint64_t){FEW}}, stream);
}

static bool add(uint32_t *words, uint32_t *more, cudaStream_t stream)
{
	return launch(kernel_stub_add, (void *[]){&words, &more, &(uint64_t){FEW}}, stream);
}

/* What is there once all that came before on the stream is done; a round in which something failed may leave anything. */
static void look(const uint32_t *words, uint32_t value, cudaStream_t stream, bool good)
{
	uint32_t host[FEW];

	good &= STEP(cudaMemcpyAsync(host, words, sizeof(host), cudaMemcpyDeviceToHost, stream));
	good &= STEP(cudaStreamSynchronize(stream));
	if (good)
		step_note("words wrong", host[0] != value || host[FEW - 1] != value);
}

/* One kernel after the other, with arguments that change. */
static void launches(void)
{
	uint32_t *words = NULL, *more = NULL;
	cudaStream_t stream = NULL;

	STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	STEP(cudaMalloc((void **)&words, FEW_BYTES));
	STEP(cudaMalloc((void **)&more, FEW_BYTES));
	if (stream == NULL || words == NULL || more == NULL)
		return;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool good = true;

		for (uint32_t i = 0; i < REPEATS; i++) {
			good &= fill(words, i, stream);
			good &= fill(more, round, stream);
			good &= add(words, more, stream);
		}
		look(words, REPEATS - 1 + round, stream, good);
	}
	STEP(cudaFree(words));
	STEP(cudaFree(more));
	STEP(cudaStreamDestroy(stream));
	STEP(cudaGetLastError());
}

/* All that may be put off, on two streams that wait for each other. */
static void kinds(void)
{
	uint32_t *words = NULL, *more = NULL;
	cudaStream_t stream[2] = {NULL};
	cudaEvent_t event[2] = {NULL};

	for (int i = 0; i < 2; i++) {
		STEP(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		STEP(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
	}
	STEP(cudaMalloc((void **)&words, FEW_BYTES));
	STEP(cudaMallocAsync((void **)&more, FEW_BYTES, stream[0]));
	if (stream[0] == NULL || stream[1] == NULL || event[0] == NULL || event[1] == NULL || words == NULL || more == NULL)
		return;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool good = true;

		for (uint32_t i = 0; good && i < 3; i++) {
			good &= STEP(cudaMemsetAsync(words, (int)i, FEW_BYTES, stream[0]));
			good &= STEP(cudaMemcpyAsync(more, words, FEW_BYTES, cudaMemcpyDeviceToDevice, stream[0]));
			good &= STEP(cudaEventRecord(event[0], stream[0]));
			good &= STEP(cudaStreamWaitEvent(stream[1], event[0], 0));
			good &= add(words, more, stream[1]);
			good &= STEP(cudaEventRecord(event[1], stream[1]));
			good &= STEP(cudaStreamWaitEvent(stream[0], event[1], 0));
		}
		look(words, 0x02020202 * 2, stream[0], good);
		STEP(cudaStreamSynchronize(stream[1]));
	}
	STEP(cudaFreeAsync(more, stream[0]));
	STEP(cudaFree(words));
	for (int i = 0; i < 2; i++) {
		STEP(cudaEventDestroy(event[i]));
		STEP(cudaStreamDestroy(stream[i]));
	}
	STEP(cudaGetLastError());
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
	    {"launches", work_warm, {launches}, work_settle, false},
	    {"kinds", work_warm, {kinds}, work_settle, false},
	};

	work_init();
	return sweep_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
