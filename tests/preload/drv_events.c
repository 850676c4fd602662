/* Does once whatever the history has an event for, and leaves alive one of each class of memory that is not a block. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define NEED(call) need_(call, #call)
#define G ((size_t)2 << 20)

static void need_(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, result);
	exit(9);
}

int main(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAllocationProp physical = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	static char own[8192] __attribute__((aligned(4096)));
	CUmemGenericAllocationHandle handle;
	CUdeviceptr memory, managed;
	size_t free_bytes, total_bytes;
	CUmemoryPool pool, standard;
	CUcontext context;
	CUstream stream;
	CUgraph graph;
	void *host;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&memory, 3 * G));
	NEED(cuMemFree(memory));
	NEED(cuMemAllocAsync(&memory, G, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(cuCtxSynchronize());
	NEED(cuDeviceGetDefaultMemPool(&standard, 0));
	NEED(cuMemPoolTrimTo(standard, 0));
	NEED(cuMemPoolCreate(&pool, &props));
	NEED(cuMemPoolDestroy(pool));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	NEED(cuStreamEndCapture(stream, &graph));
	if (cuMemAlloc(&memory, (size_t)1 << 42) != CUDA_ERROR_OUT_OF_MEMORY)
		return 9;

	NEED(cuMemHostAlloc(&host, 5000, 0));
	NEED(cuMemHostRegister(own, sizeof(own), 0));
	NEED(cuMemAllocManaged(&managed, 6000, CU_MEM_ATTACH_GLOBAL));
	NEED(cuMemCreate(&handle, G, &physical, 0));
	NEED(cuMemGetInfo(&free_bytes, &total_bytes));
	return 0;
}
