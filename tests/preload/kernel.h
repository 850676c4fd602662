/* Simulated kernels for programs that use the runtime, and short forms of what they all do.
 *
 * The host functions stand for kernels as nvcc's stubs do; they are never called. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "tests/sim/sim.h"

static void kernel_stub_fill(void)
{
}

static void kernel_stub_add(void)
{
}

static void kernel_stub_verify(void)
{
}

static void kernel_stub_delay(void)
{
}

/* Ends the program on an error. */
static inline void need_(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
	exit(9);
}

#define NEED(call) need_(call, #call)

/* What launches do with their result; a program may have its own idea. */
#ifndef KERNEL_LAUNCHED
#define KERNEL_LAUNCHED(error) (error)
#endif

static inline void kernels_register(void)
{
	sim_cudart_register_fn *cudart_register;

	*(void **)&cudart_register = sim_find("sim_cudart_register");
	if (cudart_register == NULL) {
		fprintf(stderr, "needs the simulated runtime\n");
		exit(9);
	}
	cudart_register((const void *)kernel_stub_fill, "sim_fill");
	cudart_register((const void *)kernel_stub_add, "sim_add");
	cudart_register((const void *)kernel_stub_verify, "sim_verify");
	cudart_register((const void *)kernel_stub_delay, "sim_delay");
}

static inline void kernel_launch(void (*stub)(void), void **params, cudaStream_t stream)
{
	NEED(KERNEL_LAUNCHED(
	    cudaLaunchKernel((const void *)stub, (dim3){1, 1, 1}, (dim3){128, 1, 1}, params, 0, stream)));
}

/* Sizes are in 32-bit words. */
static inline void kernel_fill(uint32_t *words, uint32_t value, uint64_t count, cudaStream_t stream)
{
	kernel_launch(kernel_stub_fill, (void *[]){&words, &value, &count}, stream);
}

static inline void kernel_add(uint32_t *words, uint32_t *more, uint64_t count, cudaStream_t stream)
{
	kernel_launch(kernel_stub_add, (void *[]){&words, &more, &count}, stream);
}

/* *errors += words that differ from value */
static inline void kernel_verify(uint32_t *words, uint32_t value, uint64_t count, uint32_t *errors, cudaStream_t stream)
{
	kernel_launch(kernel_stub_verify, (void *[]){&words, &value, &count, &errors}, stream);
}

static inline void kernel_delay(uint32_t steps, cudaStream_t stream)
{
	kernel_launch(kernel_stub_delay, (void *[]){&steps}, stream);
}

static inline cudaStream_t stream_new(void)
{
	cudaStream_t stream;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

/* A device word that counts errors, from 0. */
static inline uint32_t *errors_new(void)
{
	uint32_t *errors;

	NEED(cudaMalloc((void **)&errors, sizeof(*errors)));
	NEED(cudaMemset(errors, 0, sizeof(*errors)));
	NEED(cudaDeviceSynchronize());
	return errors;
}

static inline uint32_t errors_read(uint32_t *errors)
{
	uint32_t count = 0;

	NEED(cudaDeviceSynchronize());
	NEED(cudaMemcpy(&count, errors, sizeof(count), cudaMemcpyDeviceToHost));
	return count;
}

#endif
