/* What the scenarios of the sweep have in common: work on device memory that shows whether its bytes are its own. */
#ifndef WORK_H
#define WORK_H

#include <cuda_runtime_api.h>

#include "tests/fault/step.h"

#define KERNEL_LAUNCHED(error) ((void)step_note("launch", (int)(error)), cudaSuccess)
#include "tests/preload/kernel.h"

#define MIB ((size_t)1 << 20)

enum { WORDS = 4096 };

#define SMALL_BYTES (WORDS * sizeof(uint32_t))

static inline void work_init(void)
{
	kernels_register();
}

/* The context and the shim's view of the device are there. */
static inline void work_warm(void)
{
	void *memory = NULL;

	cudaMalloc(&memory, 64);
	cudaFree(memory);
}

static inline void work_settle(void)
{
	cudaDeviceSynchronize();
	cudaGetLastError();
}

static inline unsigned work_differ(const uint32_t *words, uint32_t value)
{
	unsigned count = 0;

	for (unsigned i = 0; i < WORDS; i++)
		count += words[i] != value;
	return count;
}

/* Fills the memory in the stream's order and looks what is in it afterwards. */
static inline void work_check(uint32_t *words, cudaStream_t stream, uint32_t value)
{
	static uint32_t host[WORDS];
	uint64_t count = WORDS;
	bool good;

	if (words == NULL)
		return;
	good = STEP(cudaLaunchKernel((const void *)kernel_stub_fill, (dim3){1, 1, 1}, (dim3){128, 1, 1},
				     (void *[]){&words, &value, &count}, 0, stream));
	good &= STEP(cudaMemcpyAsync(host, words, sizeof(host), cudaMemcpyDeviceToHost, stream));
	good &= STEP(cudaStreamSynchronize(stream));
	if (good)
		step_note("words wrong", (int)work_differ(host, value));
}

#endif
