/* A context that comes into being in the way that argv[1] says and only launches kernels: memory of another context that
 * it still reads is not handed out again when that one frees it. Prints how many words were wrong.
 * With the shim only: the driver's own cuMemFree waits for its context alone. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define NEED_STATUS 1
#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { WORDS = 1 << 18 };

static CUcontext owner;
static CUdeviceptr errors;

static void launch(const char *name, CUstream stream, void **params)
{
	CUfunction function;
	CUmodule module;

	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&function, module, name));
	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static void announce(CUdeviceptr address, size_t size_bytes)
{
	sim_shadow_owner_fn *shadow_owner;

	*(void **)&shadow_owner = sim_find("sim_shadow_owner");
	if (shadow_owner != NULL)
		shadow_owner(address, size_bytes, SIM_SHADOW_ANY);
}

static CUdeviceptr memory_new(unsigned value)
{
	CUdeviceptr memory;

	NEED(cuMemAlloc_v2(&memory, WORDS * 4));
	announce(memory, WORDS * 4);
	NEED(cuMemsetD32Async(memory, value, WORDS, CU_STREAM_LEGACY));
	return memory;
}

/* Whatever the shim had to do in other contexts. */
static void need_current(CUcontext context)
{
	CUcontext current = NULL;

	NEED(cuCtxGetCurrent(&current));
	if (current == context)
		return;
	printf("another context is current\n");
	exit(1);
}

static CUresult by_v2(CUcontext *ret_context)
{
	return cuCtxCreate_v2(ret_context, 0, 0);
}

static CUresult by_v3(CUcontext *ret_context)
{
	return cuCtxCreate_v3(ret_context, NULL, 0, 0, 0);
}

static CUresult by_v4(CUcontext *ret_context)
{
	return cuCtxCreate_v4(ret_context, NULL, 0, 0);
}

static CUresult by_retaining(CUcontext *ret_context)
{
	CUresult result = cuDevicePrimaryCtxRetain(ret_context, 0);

	return result == CUDA_SUCCESS ? cuCtxSetCurrent(*ret_context) : result;
}

static const struct {
	const char *name;
	CUresult (*make)(CUcontext *);
} ways[] = {{"v2", by_v2}, {"v3", by_v3}, {"v4", by_v4}, {"retain", by_retaining}};

static void read_elsewhere(CUresult (*make)(CUcontext *))
{
	CUdeviceptr memory = memory_new(1), again;
	unsigned value = 1, steps = 40;
	unsigned long long count = WORDS;
	CUcontext context;
	CUstream stream;

	NEED(cuCtxSynchronize());
	NEED(make(&context));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch("sim_delay", stream, (void *[]){&steps});
	launch("sim_verify", stream, (void *[]){&memory, &value, &count, &errors});
	NEED(cuCtxSetCurrent(owner));
	NEED(cuMemFree_v2(memory));
	again = memory_new(2);
	need_current(owner);
	NEED(cuCtxSynchronize());
	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamSynchronize(stream));
	NEED(cuCtxSetCurrent(owner));
	NEED(cuMemFree_v2(again));
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&owner, 0, 0));
	NEED(cuMemAlloc_v2(&errors, 4));
	announce(errors, 4);
	NEED(cuMemsetD32_v2(errors, 0, 1));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
			read_elsewhere(ways[i].make);
	NEED(cuMemcpyDtoH_v2(&wrong, errors, 4));
	printf("%u words wrong\n", wrong);
	return wrong != 0;
}
