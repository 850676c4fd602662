/* The simulated kernels: see kernels.h. */
#include "tests/soak/kernels.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/sim.h"
#include "tests/soak/draw.h"
#include "tests/soak/say.h"

/* A launch with the NULL stream that means the per-thread one, as programs built with
 * --default-stream=per-thread make it. */
cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **parameters, size_t shared_bytes,
				  cudaStream_t stream);

enum { MIX, FILL, DIGEST, FLAG, DELAY, KERNELS };

static const char stubs[KERNELS]; /* their addresses stand for the kernels, as nvcc's host stubs do */

void host_mix(uint32_t *dst, const uint32_t *src, uint64_t count, uint32_t salt)
{
	for (uint64_t i = 0; i < count; i++)
		dst[i] = (dst[i] * 0x01000193u ^ src[i]) + salt + (uint32_t)i;
}

void host_fill(uint32_t *dst, uint64_t count, uint32_t salt)
{
	for (uint64_t i = 0; i < count; i++)
		dst[i] = ((uint32_t)i + salt) * 0x9E3779B9u;
}

#define PARAM(index, type) (*(type *)launch->params[index])

static void mix_run(const struct sim_launch *launch)
{
	host_mix(PARAM(0, uint32_t *), PARAM(1, const uint32_t *), PARAM(2, uint64_t), PARAM(3, uint32_t));
}

static void fill_run(const struct sim_launch *launch)
{
	host_fill(PARAM(0, uint32_t *), PARAM(1, uint64_t), PARAM(2, uint32_t));
}

static void digest_run(const struct sim_launch *launch)
{
	*PARAM(2, uint64_t *) = digest_words(PARAM(0, const uint32_t *), PARAM(1, uint64_t));
}

static void flag_run(const struct sim_launch *launch)
{
	*PARAM(0, volatile uint32_t *) = PARAM(1, uint32_t);
}

void kernels_start(void)
{
	static const struct {
		const char *name;
		sim_kernel_fn run;
		unsigned count;
		size_t sizes[4];
	} kernels[KERNELS] = {
	    [MIX] = {"soak_mix", mix_run, 4, {8, 8, 8, 4}},
	    [FILL] = {"soak_fill", fill_run, 3, {8, 8, 4}},
	    [DIGEST] = {"soak_digest", digest_run, 3, {8, 8, 8}},
	    [FLAG] = {"soak_flag", flag_run, 2, {8, 4}},
	    [DELAY] = {"sim_delay", NULL, 0, {0}},
	};
	sim_cudart_register_fn *cudart_register;
	sim_kernel_register_fn *kernel_register;

	*(void **)&cudart_register = sim_find("sim_cudart_register");
	*(void **)&kernel_register = sim_find("sim_kernel_register");
	if (cudart_register == NULL || kernel_register == NULL) {
		fprintf(stderr, "needs the simulated GPU\n");
		exit(9);
	}
	for (unsigned i = 0; i < KERNELS; i++) {
		if (kernels[i].run != NULL)
			kernel_register(kernels[i].name, kernels[i].run, kernels[i].count, kernels[i].sizes);
		cudart_register(&stubs[i], kernels[i].name);
	}
}

static void launch(unsigned kernel, void **params, cudaStream_t stream)
{
	static const dim3 one = {1, 1, 1};

	if (stream == cudaStreamPerThread && way(2) == 0)
		NEED_OK(cudaLaunchKernel_ptsz(&stubs[kernel], one, one, params, 0, NULL));
	else
		NEED_OK(cudaLaunchKernel(&stubs[kernel], one, one, params, 0, stream));
}

void kernel_mix(uint32_t *dst, const uint32_t *src, uint64_t count, uint32_t salt, cudaStream_t stream)
{
	launch(MIX, (void *[]){&dst, &src, &count, &salt}, stream);
}

void kernel_fill(uint32_t *dst, uint64_t count, uint32_t salt, cudaStream_t stream)
{
	launch(FILL, (void *[]){&dst, &count, &salt}, stream);
}

void kernel_digest(const uint32_t *src, uint64_t count, uint64_t *result, cudaStream_t stream)
{
	launch(DIGEST, (void *[]){&src, &count, &result}, stream);
}

void kernel_flag(uint32_t *flag, uint32_t value, cudaStream_t stream)
{
	launch(FLAG, (void *[]){&flag, &value}, stream);
}

void kernel_delay(uint32_t steps, cudaStream_t stream)
{
	launch(DELAY, (void *[]){&steps}, stream);
}
