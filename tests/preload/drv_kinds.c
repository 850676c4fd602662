/* One allocation by each function that makes memory, each of a size of its own, and with argv[1] "free" its free by the
 * function that goes with it. Prints "NAME BYTES CODE" of each; what the shim knows of them is in the snapshot. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>

static bool frees;
static CUmemoryPool pool;

static void told(const char *name, size_t size_bytes, CUresult result)
{
	printf("%s %zu %d\n", name, size_bytes, result);
}

static void device_memory(void)
{
	CUdeviceptr memory;
	size_t pitch = 0;

	told("cuMemAlloc", 1001, cuMemAlloc_v2(&memory, 1001));
	if (frees)
		told("cuMemFree", 1001, cuMemFree_v2(memory));
	told("cuMemAllocPitch", 1536, cuMemAllocPitch_v2(&memory, &pitch, 512, 3, 4));
	if (frees)
		told("cuMemFree", pitch, cuMemFree_v2(memory));
	told("cuMemAllocManaged", 1003, cuMemAllocManaged(&memory, 1003, CU_MEM_ATTACH_GLOBAL));
	if (frees)
		told("cuMemFree", 1003, cuMemFree_v2(memory));
}

static void ordered_memory(void)
{
	CUdeviceptr memory;

	told("cuMemAllocAsync", 1004, cuMemAllocAsync(&memory, 1004, NULL));
	if (frees)
		told("cuMemFreeAsync", 1004, cuMemFreeAsync(memory, NULL));
	told("cuMemAllocAsync_ptsz", 1005, cuMemAllocAsync_ptsz(&memory, 1005, NULL));
	if (frees)
		told("cuMemFreeAsync_ptsz", 1005, cuMemFreeAsync_ptsz(memory, NULL));
	told("cuMemAllocFromPoolAsync", 1006, cuMemAllocFromPoolAsync(&memory, 1006, pool, NULL));
	if (frees)
		told("cuMemFreeAsync", 1006, cuMemFreeAsync(memory, NULL));
	told("cuMemAllocFromPoolAsync_ptsz", 1007, cuMemAllocFromPoolAsync_ptsz(&memory, 1007, pool, NULL));
	if (frees)
		told("cuMemFreeAsync_ptsz", 1007, cuMemFreeAsync_ptsz(memory, NULL));
}

static void host_memory(void)
{
	static _Alignas(4096) char first[8192], second[12288];
	void *memory;

	told("cuMemHostRegister", sizeof(first), cuMemHostRegister(first, sizeof(first), 0));
	told("cuMemHostRegister_v2", sizeof(second), cuMemHostRegister_v2(second, sizeof(second), 0));
	if (frees) {
		told("cuMemHostUnregister", sizeof(first), cuMemHostUnregister(first));
		told("cuMemHostUnregister", sizeof(second), cuMemHostUnregister(second));
	}
	told("cuMemAllocHost", 1008, cuMemAllocHost_v2(&memory, 1008));
	if (frees)
		told("cuMemFreeHost", 1008, cuMemFreeHost(memory));
	told("cuMemHostAlloc", 1009, cuMemHostAlloc(&memory, 1009, CU_MEMHOSTALLOC_PORTABLE));
	if (frees)
		told("cuMemFreeHost", 1009, cuMemFreeHost(memory));
}

static void handles(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;

	told("cuMemCreate", 4u << 20, cuMemCreate(&handle, 4u << 20, &properties, 0));
	if (frees)
		told("cuMemRelease", 4u << 20, cuMemRelease(handle));
}

int main(int argc, char **argv)
{
	CUcontext context;

	frees = argc > 1 && strcmp(argv[1], "free") == 0;
	if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS || cuDeviceGetDefaultMemPool(&pool, 0) != CUDA_SUCCESS)
		return 2;
	device_memory();
	ordered_memory();
	host_memory();
	handles();
	return 0;
}
