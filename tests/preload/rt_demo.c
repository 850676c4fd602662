/* The program that `make demo` runs under the shim: a small pretended training run in plain C.
 *
 * It allocates with cudaMalloc and cudaMallocAsync on two streams, copies, launches kernels where it can (the
 * simulated GPU has some; a real one would need nvcc), checks every result, and leaves its weights allocated at the
 * end, as many programs do. Its functions have names that one recognises in the report. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "tests/sim/sim.h"

enum { LAYERS = 4, STEPS = 12, STREAMS = 2 };

static const size_t layer_count = 2u << 20; /* 32-bit numbers in the weights of a layer: 8 MiB */

static uint32_t *weights[LAYERS];
static uint32_t *host; /* pinned; room for one layer */
static cudaStream_t streams[STREAMS];

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "demo: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

#define CHECK(call) check(call, #call)

/* The host functions that stand for kernels, as nvcc would make them; never called. */
static void fill_kernel(void)
{
}

static void add_kernel(void)
{
}

static bool has_kernels;

static void register_kernels(void)
{
	sim_cudart_register_fn *cudart_register;
	void *found = sim_find("sim_cudart_register");

	has_kernels = found != NULL;
	if (!has_kernels)
		return;
	*(void **)&cudart_register = found;
	cudart_register((const void *)fill_kernel, "sim_fill");
	cudart_register((const void *)add_kernel, "sim_add");
}

static void launch(void (*kernel)(void), void **params, cudaStream_t stream)
{
	dim3 grid = {1, 1, 1}, block = {256, 1, 1};

	CHECK(cudaLaunchKernel((const void *)kernel, grid, block, params, 0, stream));
}

static void fill(uint32_t *numbers, uint32_t value, cudaStream_t stream)
{
	uint64_t count = layer_count;
	void *params[] = {&numbers, &value, &count};

	if (has_kernels) {
		launch(fill_kernel, params, stream);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		host[i] = value;
	CHECK(cudaMemcpyAsync(numbers, host, count * sizeof(*numbers), cudaMemcpyHostToDevice, stream));
	CHECK(cudaStreamSynchronize(stream));
}

/* numbers += more; without kernels, by way of the host. */
static void add(uint32_t *numbers, uint32_t *more, uint32_t value, cudaStream_t stream)
{
	uint64_t count = layer_count;
	void *params[] = {&numbers, &more, &count};

	if (has_kernels)
		launch(add_kernel, params, stream);
	else
		fill(numbers, value, stream);
}

__attribute__((noinline)) static void load_weights(void)
{
	for (unsigned layer = 0; layer < LAYERS; layer++) {
		CHECK(cudaMalloc((void **)&weights[layer], layer_count * sizeof(uint32_t)));
		fill(weights[layer], layer, streams[0]);
	}
	CHECK(cudaStreamSynchronize(streams[0]));
}

/* One gradient a layer, in memory that lives for this step only; its value is 1. */
__attribute__((noinline)) static void train_step(unsigned step)
{
	for (unsigned layer = 0; layer < LAYERS; layer++) {
		cudaStream_t stream = streams[layer % STREAMS];
		uint32_t *gradient, *scratch;

		CHECK(cudaMallocAsync((void **)&gradient, layer_count * sizeof(*gradient), stream));
		CHECK(cudaMallocAsync((void **)&scratch, layer_count * sizeof(*scratch), stream));
		fill(scratch, 1, stream);
		CHECK(cudaMemcpyAsync(gradient, scratch, layer_count * sizeof(*gradient), cudaMemcpyDeviceToDevice,
				      stream));
		CHECK(cudaFreeAsync(scratch, stream));
		add(weights[layer], gradient, layer + step + 1, stream);
		CHECK(cudaFreeAsync(gradient, stream));
	}
}

/* What the host does between two steps, while the device has nothing to do. */
static void next_batch_prepare(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* A blocking copy of four bytes each step: the wait that a report should point at. */
__attribute__((noinline)) static uint32_t read_loss(void)
{
	uint32_t loss = 0;

	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(cudaStreamSynchronize(streams[i]));
	CHECK(cudaMemcpy(&loss, weights[0], sizeof(loss), cudaMemcpyDeviceToHost));
	return loss;
}

__attribute__((noinline)) static unsigned long count_wrong(void)
{
	unsigned long wrong = 0;

	for (unsigned layer = 0; layer < LAYERS; layer++) {
		CHECK(cudaMemcpy(host, weights[layer], layer_count * sizeof(*host), cudaMemcpyDeviceToHost));
		for (size_t i = 0; i < layer_count; i++)
			wrong += host[i] != layer + STEPS;
	}
	return wrong;
}

int main(void)
{
	unsigned long wrong = 0;

	register_kernels();
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaHostAlloc((void **)&host, layer_count * sizeof(*host), cudaHostAllocDefault));
	load_weights();
	for (unsigned step = 0; step < STEPS; step++) {
		train_step(step);
		wrong += read_loss() != step + 1;
		next_batch_prepare();
	}
	wrong += count_wrong();
	CHECK(cudaFreeHost(host));
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(cudaStreamDestroy(streams[i]));
	if (wrong > 0) {
		fprintf(stderr, "demo: %lu results are wrong\n", wrong);
		return 1;
	}
	puts("demo: results are right");
	return 0;
}
