/* The functions that end something, in each of their versions: what argv[1] says. Prints what the program sees.
 *
 * The contexts: memory that dies with its context is nobody's afterwards, so it cannot be freed. argv[2] is a library whose
 * calls the shim leaves alone. */
#define __CUDA_API_VERSION_INTERNAL
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "shim/gpushim.h"
#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { BYTES = 4 << 20 };

static CUcontext other;
static CUgreenCtx green;
static const char *ask_path;

static CUresult make_primary(CUcontext *ret_context)
{
	CUresult result = cuDevicePrimaryCtxRetain(ret_context, 0);

	return result == CUDA_SUCCESS ? cuCtxSetCurrent(*ret_context) : result;
}

static CUresult make_created(CUcontext *ret_context)
{
	return cuCtxCreate_v2(ret_context, 0, 0);
}

static CUresult make_green(CUcontext *ret_context)
{
	CUdevResourceDesc description;
	CUdevResource resource;

	NEED(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
	NEED(cuDevResourceGenerateDesc(&description, &resource, 1));
	NEED(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	NEED(cuCtxFromGreenCtx(ret_context, green));
	return cuCtxSetCurrent(*ret_context);
}

/* By a function that the shim does not see. */
static void *unseen(const char *symbol)
{
	void *(*ask)(const char *);
	void *library = dlopen(ask_path, RTLD_NOW);
	void *found;

	if (library == NULL) {
		printf("%s\n", dlerror());
		exit(2);
	}
	*(void **)&ask = dlsym(library, "ask_driver");
	found = ask(symbol);
	if (found == NULL)
		exit(2);
	return found;
}

static CUresult make_unseen(CUcontext *ret_context)
{
	CUresult (*retain)(CUcontext *, CUdevice);

	*(void **)&retain = unseen("cuDevicePrimaryCtxRetain");
	NEED(retain(ret_context, 0));
	return CUDA_SUCCESS;
}

static CUresult end_v1(CUcontext context)
{
	return cuCtxDestroy(context);
}

static CUresult end_v2(CUcontext context)
{
	return cuCtxDestroy_v2(context);
}

static CUresult end_release_v1(CUcontext context)
{
	(void)context;
	return cuDevicePrimaryCtxRelease(0);
}

static CUresult end_release_v2(CUcontext context)
{
	(void)context;
	return cuDevicePrimaryCtxRelease_v2(0);
}

static CUresult end_reset_v1(CUcontext context)
{
	(void)context;
	return cuDevicePrimaryCtxReset(0);
}

static CUresult end_reset_v2(CUcontext context)
{
	(void)context;
	return cuDevicePrimaryCtxReset_v2(0);
}

static CUresult end_green(CUcontext context)
{
	(void)context;
	return cuGreenCtxDestroy(green);
}

static const struct {
	const char *name;
	CUresult (*make)(CUcontext *);
	CUresult (*end)(CUcontext);
} contexts[] = {
    {"context", make_created, end_v1},	       {"context-v2", make_created, end_v2},
    {"release", make_primary, end_release_v1}, {"release-v2", make_primary, end_release_v2},
    {"reset", make_primary, end_reset_v1},     {"reset-v2", make_primary, end_reset_v2},
    {"green", make_green, end_green},
};

static void context_ends(CUresult (*make)(CUcontext *), CUresult (*end)(CUcontext))
{
	CUdeviceptr kept, mine;
	CUcontext context;

	NEED(cuMemAlloc_v2(&mine, BYTES));
	NEED(make(&context));
	NEED(cuMemAlloc_v2(&kept, BYTES));
	NEED(cuCtxSetCurrent(other));
	NEED(end(context));
	printf("memory of the context that ended: %d\n", cuMemFree_v2(kept));
	printf("memory of the other one: %d\n", cuMemFree_v2(mine));
}

/* The primary context is active although the shim has not seen it come, and ends as the program says. */
static void primary_unseen(void)
{
	CUcontext context;
	unsigned flags;
	int active = -1;

	NEED(make_unseen(&context));
	NEED(cuDevicePrimaryCtxRelease_v2(0));
	NEED(cuDevicePrimaryCtxGetState(0, &flags, &active));
	printf("active %d\n", active);
}

/* A wait for a context that the shim has not seen is none for the one that it knows. */
static void wait_unseen(void)
{
	CUresult (*create)(CUcontext *, unsigned, CUdevice);
	CUdeviceptr memory, again;
	CUcontext context;
	CUstream stream;
	sim_calls_fn *calls;
	unsigned long asked;

	*(void **)&calls = sim_find("sim_calls");
	*(void **)&create = unseen("cuCtxCreate_v2");
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
	NEED(cuMemFree_v2(memory));
	NEED(create(&context, 0, 0));
	NEED(cuCtxSynchronize());
	NEED(cuCtxSetCurrent(other));
	asked = calls("cuEventQuery");
	NEED(cuMemAlloc_v2(&again, BYTES));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && again == memory && calls("cuEventQuery") == asked)
		printf("nobody asked whether the memory is free\n");
}

/* Of two devices; the last reference to the first one's is given up. */
static void two_primaries(void)
{
	CUcontext primaries[2];
	CUdeviceptr memory[2];

	for (CUdevice device = 0; device < 2; device++) {
		NEED(cuDevicePrimaryCtxRetain(&primaries[device], device));
		NEED(cuCtxSetCurrent(primaries[device]));
		NEED(cuMemAlloc_v2(&memory[device], BYTES));
	}
	NEED(cuDevicePrimaryCtxRelease_v2(0));
	printf("memory of the context that ended: %d\n", cuMemFree_v2(memory[0]));
	printf("memory of the other one: %d\n", cuMemFree_v2(memory[1]));
}

/* Addresses of memory that is given back are no place for the program's own. */
static void memory_goes(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	__typeof__(gpushim_trim) *trim;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr memory;

	*(void **)&trim = dlsym(RTLD_DEFAULT, "gpushim_trim");
	NEED(cuMemAlloc_v2(&memory, 8 * BYTES));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize());
	if (trim != NULL)
		trim(0, 0);
	NEED(cuMemCreate(&handle, BYTES, &properties, 0));
	memory = (memory + BYTES) & -(CUdeviceptr)BYTES;
	printf("mapped there: %d\n", cuMemMap(memory, BYTES, 0, handle, 0));
	NEED(cuMemRelease(handle));
}

static unsigned long recorded(void)
{
	sim_calls_fn *calls;

	*(void **)&calls = sim_find("sim_calls");
	return calls("cuEventRecord");
}

/* What was freed on the stream must have a fence before the stream goes. */
static void stream_ends(void)
{
	unsigned long before;
	CUdeviceptr memory;
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
	NEED(cuMemFreeAsync(memory, stream));
	before = recorded();
	NEED(cuStreamDestroy(stream));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && recorded() == before)
		printf("the stream went and nothing tells when its memory is free\n");
}

/* The next stream has the handle of the one that went, and must wait for its work as any other. */
static void stream_again(void)
{
	CUdeviceptr memory, again;
	CUstream stream, next;
	sim_calls_fn *calls;
	unsigned long asked;

	*(void **)&calls = sim_find("sim_calls");
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuStreamDestroy_v2(stream));
	NEED(cuStreamCreate(&next, CU_STREAM_NON_BLOCKING));
	asked = calls("cuEventQuery");
	NEED(cuMemAllocAsync(&again, BYTES, next));
	if (next != stream)
		printf("another handle\n");
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && again == memory && calls("cuEventQuery") == asked)
		printf("nobody asked whether the memory is free\n");
}

/* After a wait for the only context, what was freed in it is for all, and no event is needed. */
static void context_waited_for(void)
{
	CUdeviceptr memory, again;
	sim_calls_fn *calls;
	unsigned long before;

	*(void **)&calls = sim_find("sim_calls");
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemsetD8Async(memory, 1, BYTES, NULL));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize_v2(other));
	before = calls("cuCtxRecordEvent");
	NEED(cuMemAlloc_v2(&again, BYTES));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && (again != memory || calls("cuCtxRecordEvent") != before))
		printf("the wait told nothing\n");
}

/* After a wait for a stream, what was freed on it is for all, and no event is needed. */
static void stream_waited_for(void)
{
	CUdeviceptr memory, again;
	unsigned long before;
	CUstream one, two;

	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&memory, BYTES, one));
	NEED(cuMemsetD8Async(memory, 1, BYTES, one));
	NEED(cuMemFreeAsync(memory, one));
	NEED(cuStreamSynchronize_ptsz(one));
	before = recorded();
	NEED(cuMemAllocAsync(&again, BYTES, two));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && (again != memory || recorded() != before))
		printf("the wait told nothing\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	ask_path = argc > 2 ? argv[2] : "";
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&other, 0, 0));
	if (strcmp(what, "primary-unseen") == 0)
		primary_unseen();
	if (strcmp(what, "wait-unseen") == 0)
		wait_unseen();
	if (strcmp(what, "two-primaries") == 0)
		two_primaries();
	if (strcmp(what, "memory") == 0)
		memory_goes();
	if (strcmp(what, "stream") == 0)
		stream_ends();
	if (strcmp(what, "stream-again") == 0)
		stream_again();
	if (strcmp(what, "context-wait") == 0)
		context_waited_for();
	if (strcmp(what, "stream-wait") == 0)
		stream_waited_for();
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (strcmp(what, contexts[i].name) == 0)
			context_ends(contexts[i].make, contexts[i].end);
	return 0;
}
