/* Memory pools of devices that cannot all reach each other (SIM_PEERS=pairs, three devices): the pool that a device was
 * told to use, and access to the pool of another. Prints what the program sees. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "tests/preload/need.h"

enum { BYTES = 4 << 20 };

static CUcontext contexts[3];

static void pool_set(CUresult (*set)(CUmemoryPool), const char *name)
{
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool pool, before;
	CUdeviceptr memory;
	cuuint64_t used = 0;

	NEED(cuDeviceGetMemPool(&before, 0));
	NEED(cuMemPoolCreate(&pool, &properties));
	NEED(cuMemAllocAsync(&memory, BYTES, NULL));
	NEED(cuMemFreeAsync(memory, NULL));
	NEED(set(pool));
	NEED(cuMemAllocAsync(&memory, BYTES, NULL));
	NEED(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	printf("%s: %llu bytes\n", name, (unsigned long long)used);
	NEED(cuMemFreeAsync(memory, NULL));
	NEED(set(before));
	NEED(cuCtxSynchronize());
	NEED(cuMemPoolDestroy(pool));
}

static CUresult by_device(CUmemoryPool pool)
{
	return cuDeviceSetMemPool(0, pool);
}

static CUresult by_location(CUmemoryPool pool)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

	return cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
}

/* A kernel of device 1 writes what device 0 allocated, before and after it was allowed to. */
static void pool_access(void)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	unsigned long long count = BYTES / 4;
	CUdeviceptr before, after;
	unsigned value = 7, word;
	CUfunction function;
	CUmemoryPool pool;
	CUmodule module;

	NEED(cuDeviceGetDefaultMemPool(&pool, 0));
	NEED(cuMemAllocAsync(&before, BYTES, NULL));
	NEED(cuMemPoolSetAccess(pool, &access, 1));
	NEED(cuMemAllocAsync(&after, BYTES, NULL));
	NEED(cuCtxSynchronize());
	NEED(cuCtxSetCurrent(contexts[1]));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&function, module, "sim_fill"));
	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&before, &value, &count}, NULL));
	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&after, &value, &count}, NULL));
	printf("written by device 1: %d\n", cuCtxSynchronize());
	NEED(cuCtxSetCurrent(contexts[0]));
	NEED(cuMemcpyDtoH_v2(&word, after + BYTES - 4, 4));
	printf("%u\n", word);
}

int main(void)
{
	NEED(cuInit(0));
	for (CUdevice device = 0; device < 3; device++)
		NEED(cuCtxCreate_v2(&contexts[device], 0, device));
	NEED(cuCtxSetCurrent(contexts[0]));
	pool_set(by_device, "cuDeviceSetMemPool");
	pool_set(by_location, "cuMemSetMemPool");
	pool_access();
	return 0;
}
