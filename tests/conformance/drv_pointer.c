/* Rule (H32): what a program may ask of a pointer: type, device, range, managed, a new buffer id for every allocation;
 * pageable memory is INVALID_VALUE for one question and zeros for several. */
#include "tests/conformance/rule_drv.h"

static unsigned long long ask(CUpointer_attribute attribute, CUdeviceptr pointer)
{
	unsigned long long answer = 0;

	NEED(cuPointerGetAttribute(&answer, attribute, pointer));
	return answer;
}

int main(void)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
	unsigned type = 99, managed = 99;
	void *answers[] = {&type, &managed};
	unsigned long long answer, first_id;
	CUdeviceptr device, managed_pointer;
	void *pinned;
	char pageable[64];

	rule_start();
	NEED(cuMemAlloc(&device, 1000));
	NEED(cuMemAllocManaged(&managed_pointer, 1000, CU_MEM_ATTACH_GLOBAL));
	NEED(cuMemAllocHost(&pinned, 1000));
	WANT(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5), CU_MEMORYTYPE_DEVICE);
	WANT(ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device), 0);
	WANT(ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 5), device);
	WANT(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 5), 1000);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, device), 0);
	WANT(ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, device), 1);
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
	return rule_broken;
}
