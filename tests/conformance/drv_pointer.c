/* Rule (H32): what a program may ask of a pointer: type, device, range, managed, a new buffer id for every allocation;
 * pageable memory is INVALID_VALUE for one question and zeros for several; pooled and mapped memory have no context. */
#include "tests/conformance/rule_drv.h"

#define GRANULE ((size_t)2 << 20)

static unsigned long long ask(CUpointer_attribute attribute, CUdeviceptr pointer)
{
	unsigned long long answer = 0, among_several = 0;
	void *answers[] = {&among_several};

	NEED(cuPointerGetAttribute(&answer, attribute, pointer));
	NEED(cuPointerGetAttributes(1, &attribute, answers, pointer));
	WANT(among_several, answer);
	return answer;
}

/* Stream-ordered memory belongs to its pool, not to a context. */
static void pooled_memory(void)
{
	CUmemoryPool pool;
	CUdeviceptr pooled;

	NEED(cuDeviceGetMemPool(&pool, 0));
	NEED(cuMemAllocAsync(&pooled, 1000, NULL));
	WANT(ask(CU_POINTER_ATTRIBUTE_CONTEXT, pooled), 0);
	WANT((CUmemoryPool)ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled) == pool, 1);
	WANT(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, pooled), 1000);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pooled), 0);
	NEED(cuMemFreeAsync(pooled, NULL));
}

static void mapped_memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr mapped, base;
	CUipcMemHandle shared;
	unsigned on = 1;
	size_t size;

	NEED(cuMemAddressReserve(&mapped, GRANULE, 0, 0, 0));
	NEED(cuMemCreate(&handle, GRANULE, &prop, 0));
	NEED(cuMemMap(mapped, GRANULE, 0, handle, 0));
	NEED(cuMemSetAccess(mapped, GRANULE, &access, 1));
	WANT(ask(CU_POINTER_ATTRIBUTE_CONTEXT, mapped), 0);
	NEED(cuMemGetAddressRange(&base, &size, mapped + 5));
	WANT(base, mapped);
	WANT(size, GRANULE);
	WANT(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, mapped), CUDA_ERROR_NOT_SUPPORTED);
	WANT(cuIpcGetMemHandle(&shared, mapped), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
	unsigned type = 99, managed = 99;
	void *answers[] = {&type, &managed};
	unsigned long long answer, first_id;
	CUdeviceptr device, managed_pointer, base;
	CUcontext context;
	size_t size;
	void *pinned;
	char pageable[64];

	context = rule_start();
	NEED(cuMemAlloc(&device, 1000));
	NEED(cuMemAllocManaged(&managed_pointer, 1000, CU_MEM_ATTACH_GLOBAL));
	NEED(cuMemAllocHost(&pinned, 1000));
	WANT(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5), CU_MEMORYTYPE_DEVICE);
	WANT(ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device), 0);
	WANT(ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 5), device);
	WANT(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 5), 1000);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, device), 0);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, device), 1);
	WANT(ask(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, device), GRANULE);
	WANT(ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, device), 0);
	WANT((CUcontext)ask(CU_POINTER_ATTRIBUTE_CONTEXT, device) == context, 1);
	NEED(cuMemGetAddressRange(&base, &size, device + 5));
	WANT(base, device);
	WANT(size, 1000);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed_pointer), 1);
	WANT(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)pinned), CU_MEMORYTYPE_HOST);
	WANT(ask(CU_POINTER_ATTRIBUTE_HOST_POINTER, (uintptr_t)pinned + 3), (uintptr_t)pinned + 3);
	WANT(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)pageable),
	     CUDA_ERROR_INVALID_VALUE);
	NEED(cuPointerGetAttributes(2, asked, answers, (uintptr_t)pageable));
	WANT(type, 0);
	WANT(managed, 0);
	first_id = ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, device);
	NEED(cuMemFree(device));
	WANT(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemAlloc(&device, 1000));
	WANT(ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, device) != first_id, 1);
	pooled_memory();
	mapped_memory();
	return rule_broken;
}
