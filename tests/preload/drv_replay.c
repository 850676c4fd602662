/* Launches that repeat, by the driver API: code that is unloaded, contexts that end, kernels by other handles and packed arguments.
 * As rt_replay.c: what is printed must be the same with graph:auto and without. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256, BYTES = WORDS * 4 };

static void need_(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(9);
}

#define NEED(call) need_(call, #call)

/* What launches need in one context. */
struct place {
	CUmodule module;
	CUfunction fill, verify;
	CUdeviceptr words, errors;
};

static void place_make(struct place *place)
{
	NEED(cuMemAlloc_v2(&place->words, BYTES));
	NEED(cuMemAlloc_v2(&place->errors, 4));
	NEED(cuMemsetD32_v2(place->errors, 0, 1));
	NEED(cuModuleLoadData(&place->module, "simulated"));
	NEED(cuModuleGetFunction(&place->fill, place->module, "sim_fill"));
	NEED(cuModuleGetFunction(&place->verify, place->module, "sim_verify"));
}

static void place_launch(struct place *place, uint32_t value, CUstream stream)
{
	uint64_t count = WORDS;
	void *params[] = {&place->words, &value, &count, &place->errors};

	NEED(cuLaunchKernel(place->fill, 1, 1, 1, 128, 1, 1, 0, stream, params, NULL));
	NEED(cuLaunchKernel(place->verify, 1, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

static void place_say(const struct place *place)
{
	uint32_t errors, last;

	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH_v2(&errors, place->errors, 4));
	NEED(cuMemcpyDtoH_v2(&last, place->words, 4));
	printf("errors %u, last %u\n", errors, last);
}

/* Code is unloaded in the middle of a step, and loaded again. */
static void unload(void)
{
	struct place place;

	for (uint32_t round = 0; round < 12; round++) {
		place_make(&place);
		for (uint32_t i = 0; i < 333; i++)
			place_launch(&place, round + i, NULL);
		NEED(cuModuleUnload(place.module));
		place_say(&place);
	}
}

/* Two more contexts, which take turns and end. */
static void contexts(void)
{
	CUcontext context[2];
	struct place place[2];

	for (uint32_t round = 0; round < 6; round++) {
		for (uint32_t i = 0; i < 2; i++) {
			NEED(cuCtxCreate_v2(&context[i], 0, 0));
			place_make(&place[i]);
		}
		for (uint32_t i = 0; i < 1000; i++) {
			NEED(cuCtxSetCurrent(context[i / 3 % 2]));
			place_launch(&place[i / 3 % 2], i, NULL);
		}
		for (uint32_t i = 0; i < 2; i++) {
			NEED(cuCtxSetCurrent(context[i]));
			place_say(&place[i]);
			NEED(cuCtxDestroy_v2(context[i]));
		}
	}
}

/* Kernels of a library, by the handle that is for all contexts. */
static void kernels(void)
{
	CUlibrary library;
	struct place place;
	CUkernel kernel;

	place_make(&place);
	NEED(cuLibraryLoadData(&library, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&kernel, library, "sim_fill"));
	place.fill = (CUfunction)kernel;
	for (uint32_t i = 0; i < 1500; i++)
		place_launch(&place, i, NULL);
	place_say(&place);
	NEED(cuLibraryUnload(library));
}

/* Arguments that the program has packed itself. */
static void packed(void)
{
	struct place place;

	place_make(&place);
	for (uint32_t i = 0; i < 1500; i++) {
		struct {
			CUdeviceptr words;
			uint32_t value, gap;
			uint64_t count;
			CUdeviceptr errors;
		} values = {place.words, i, 0, WORDS, place.errors};
		size_t fill_bytes = 24, verify_bytes = 32;
		void *fill[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &values, CU_LAUNCH_PARAM_BUFFER_SIZE, &fill_bytes,
				CU_LAUNCH_PARAM_END};
		void *verify[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &values, CU_LAUNCH_PARAM_BUFFER_SIZE, &verify_bytes,
				  CU_LAUNCH_PARAM_END};

		NEED(cuLaunchKernel(place.fill, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, fill));
		NEED(cuLaunchKernel(place.verify, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, verify));
	}
	place_say(&place);
}

/* The device is full while there are graphs, and what is asked for is had or refused as ever. */
static void full(void)
{
	struct place place;
	CUdeviceptr block[64];
	unsigned count = 0;
	size_t bytes = 0;

	place_make(&place);
	for (uint32_t i = 0; i < 700; i++)
		place_launch(&place, i, NULL);
	while (count < 64 && cuMemAlloc_v2(&block[count], 32u << 20) == CUDA_SUCCESS)
		bytes += 32u << 20, count++;
	for (uint32_t i = 0; i < 700; i++)
		place_launch(&place, i, NULL);
	for (unsigned i = 0; i < count; i++)
		NEED(cuMemFree_v2(block[i]));
	place_say(&place);
	printf("%zu bytes\n", bytes);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"unload", unload}, {"contexts", contexts}, {"kernels", kernels}, {"packed", packed}, {"full", full},
};

int main(int argc, char **argv)
{
	CUcontext context;

	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	return 2;
}
