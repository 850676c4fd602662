/* The registry of kernels and those that are built in: see sim_kernel.h and tests/sim/sim.h. */
#include "tests/sim/cuda/sim_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_call.h"

SIM_EXPORT void sim_kernel_register(const char *name, sim_kernel_fn fn, unsigned param_count,
				    const size_t *param_sizes);

static struct sim_kernel *kernels;

static struct sim_kernel *kernel_find(const char *name)
{
	struct sim_kernel *kernel = kernels;

	while (kernel && strcmp(kernel->name, name) != 0)
		kernel = kernel->next;
	return kernel;
}

static struct sim_kernel *kernel_add(const char *name)
{
	struct sim_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel || !(kernel->name = strdup(name)))
		abort();
	kernel->next = kernels;
	kernels = kernel;
	return kernel;
}

void sim_kernel_register(const char *name, sim_kernel_fn fn, unsigned param_count, const size_t *param_sizes)
{
	struct sim_kernel *kernel = kernel_find(name);

	if (param_count > SIM_PARAMS_MAX) {
		fprintf(stderr, "gpushim-sim: kernel %s has more than %d parameters\n", name, SIM_PARAMS_MAX);
		abort();
	}
	if (!kernel)
		kernel = kernel_add(name);
	kernel->fn = fn;
	kernel->param_count = param_count;
	kernel->param_bytes = 0;
	for (unsigned i = 0; i < param_count; i++) {
		size_t alignment = param_sizes[i] & -param_sizes[i];

		if (alignment > 16)
			alignment = 16;
		kernel->param_sizes[i] = param_sizes[i];
		kernel->param_offsets[i] = (kernel->param_bytes + alignment - 1) / alignment * alignment;
		kernel->param_bytes = kernel->param_offsets[i] + param_sizes[i];
	}
}

#define PARAM(launch, index, type) (*(type *)(launch)->params[index])

static void fill_run(const struct sim_launch *launch)
{
	uint32_t *dst = PARAM(launch, 0, uint32_t *);

	for (uint64_t i = 0; i < PARAM(launch, 2, uint64_t); i++)
		dst[i] = PARAM(launch, 1, uint32_t);
}

static void add_run(const struct sim_launch *launch)
{
	uint32_t *dst = PARAM(launch, 0, uint32_t *);
	const uint32_t *src = PARAM(launch, 1, const uint32_t *);

	for (uint64_t i = 0; i < PARAM(launch, 2, uint64_t); i++)
		dst[i] += src[i];
}

static void verify_run(const struct sim_launch *launch)
{
	const uint32_t *src = PARAM(launch, 0, const uint32_t *);
	uint32_t *errors = PARAM(launch, 3, uint32_t *);

	for (uint64_t i = 0; i < PARAM(launch, 2, uint64_t); i++)
		*errors += src[i] != PARAM(launch, 1, uint32_t);
}

static void nothing_run(const struct sim_launch *launch)
{
	(void)launch;
}

__attribute__((constructor)) static void kernels_init(void)
{
	sim_kernel_register("sim_fill", fill_run, 3, (const size_t[]){8, 4, 8});
	sim_kernel_register("sim_add", add_run, 3, (const size_t[]){8, 8, 8});
	sim_kernel_register("sim_verify", verify_run, 4, (const size_t[]){8, 4, 8, 8});
	sim_kernel_register("sim_delay", nothing_run, 1, (const size_t[]){4});
	kernel_find("sim_delay")->steps_param = 1;
	sim_kernel_register("sim_fail", nothing_run, 1, (const size_t[]){4});
	kernel_find("sim_fail")->fails_param = 1;
}

const struct sim_kernel *sim_kernel_find(const char *name)
{
	return kernel_find(name);
}

const struct sim_kernel *sim_kernel_first(void)
{
	return kernels;
}
