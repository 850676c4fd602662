/* The driver API for the sweep of faults: contexts of the program's own, its own virtual memory, two devices. */
#include <cuda.h>

#include "tests/fault/sweep.h"

#define MIB ((size_t)1 << 20)

static void warm(void)
{
	CUcontext context;
	CUdeviceptr memory = 0;

	cuInit(0);
	if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS)
		return;
	cuCtxSetCurrent(context);
	cuMemAlloc(&memory, 64);
	cuMemFree(memory);
}

static void settle(void)
{
	CUcontext context;
	int count = 0;

	cuDeviceGetCount(&count);
	for (int device = count - 1; device >= 0; device--) {
		cuDevicePrimaryCtxRetain(&context, device);
		cuCtxSetCurrent(context);
		cuCtxSynchronize();
		cuDevicePrimaryCtxRelease(device);
	}
}

static void check(CUdeviceptr memory, unsigned value)
{
	unsigned host[256], wrong = 0;
	bool good;

	if (memory == 0)
		return;
	good = STEP(cuMemsetD32(memory, value, 256));
	good &= STEP(cuMemcpyDtoH(host, memory, sizeof(host)));
	for (unsigned i = 0; i < 256; i++)
		wrong += host[i] != value;
	if (good)
		step_note("words wrong", (int)wrong);
}

/* A context with its memory, streams and events; the memory of the first dies with it. */
static void contexts(void)
{
	CUcontext context[2] = {NULL}, popped;
	CUdeviceptr memory[2] = {0};
	CUstream stream = NULL;
	CUdevice device = 0;

	STEP(cuDeviceGet(&device, 0));
	for (int i = 0; i < 2; i++) {
		if (!STEP(cuCtxCreate(&context[i], NULL, 0, device)))
			continue;
		STEP(cuMemAlloc(&memory[i], MIB));
		check(memory[i], (unsigned)i + 1);
	}
	if (context[0] != NULL && context[1] != NULL) {
		STEP(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CUdeviceptr ordered = 0;

		STEP(cuMemAllocAsync(&ordered, MIB, stream));
		check(ordered, 5);
		STEP(cuCtxPushCurrent(context[0]));
		if (ordered != 0)
			STEP(cuMemFreeAsync(ordered, stream));
		STEP(cuCtxPopCurrent(&popped));
		if (stream != NULL)
			STEP(cuStreamDestroy(stream));
	}
	if (memory[1] != 0)
		STEP(cuMemFree(memory[1]));
	for (int i = 1; i >= 0; i--)
		if (context[i] != NULL)
			STEP(cuCtxDestroy(context[i]));
}

/* Virtual memory that the program manages by itself. */
static void virtual_memory(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr address = 0;
	size_t unit = 0;
	bool mapped;

	if (!STEP(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
		return;
	STEP(cuMemAddressReserve(&address, unit, 0, 0, 0));
	STEP(cuMemCreate(&handle, unit, &properties, 0));
	mapped = address != 0 && handle != 0 && STEP(cuMemMap(address, unit, 0, handle, 0));
	if (mapped && STEP(cuMemSetAccess(address, unit, &access, 1)))
		check(address, 9);
	STEP(cuCtxSynchronize());
	if (mapped)
		STEP(cuMemUnmap(address, unit));
	if (handle != 0)
		STEP(cuMemRelease(handle));
	if (address != 0)
		STEP(cuMemAddressFree(address, unit));
}

/* Two devices: each reads what the other one has, before and after memory was there. */
static void peers(void)
{
	CUcontext context[2] = {NULL};
	CUdeviceptr memory[2] = {0}, later = 0;
	int count = 0;

	STEP(cuDeviceGetCount(&count));
	if (count < 2)
		return;
	for (int i = 0; i < 2; i++) {
		if (!STEP(cuDevicePrimaryCtxRetain(&context[i], i)))
			continue;
		STEP(cuCtxSetCurrent(context[i]));
		STEP(cuMemAlloc(&memory[i], MIB));
		check(memory[i], (unsigned)i + 30);
	}
	if (context[0] != NULL && context[1] != NULL) {
		STEP(cuCtxSetCurrent(context[0]));
		STEP(cuCtxEnablePeerAccess(context[1], 0));
		STEP(cuCtxSetCurrent(context[1]));
		STEP(cuMemAlloc(&later, 4 * MIB));
		check(later, 40);
		if (memory[0] != 0 && later != 0)
			STEP(cuMemcpyDtoD(memory[0], later, 1024));
		STEP(cuCtxSynchronize());
		if (later != 0)
			STEP(cuMemFree(later));
		STEP(cuCtxSetCurrent(context[0]));
		STEP(cuCtxDisablePeerAccess(context[1]));
	}
	for (int i = 0; i < 2; i++) {
		if (memory[i] != 0)
			STEP(cuMemFree(memory[i]));
		if (context[i] != NULL)
			STEP(cuDevicePrimaryCtxRelease(i));
	}
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
	    {"contexts", warm, {contexts}, settle, false},
	    {"virtual memory", warm, {virtual_memory}, settle, false},
	    {"peers", warm, {peers}, settle, false},
	};

	return sweep_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
