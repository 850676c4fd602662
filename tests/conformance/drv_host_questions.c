/* Rule (H32): what a program may ask of pinned host memory, live and freed. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)3 << 20)

static unsigned long long number(CUpointer_attribute attribute, CUdeviceptr pointer)
{
	unsigned long long value = 0;

	NEED(cuPointerGetAttribute(&value, attribute, pointer));
	return value;
}

static unsigned flags_of(void *memory)
{
	unsigned flags = 0;

	NEED(cuMemHostGetFlags(&flags, memory));
	return flags;
}

static void ask(CUcontext context, void *memory)
{
	CUdeviceptr pointer = (CUdeviceptr)(uintptr_t)memory, base = 0;
	size_t size_bytes = 0;

	WANT(number(CU_POINTER_ATTRIBUTE_CONTEXT, pointer), (uintptr_t)context);
	WANT(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 5) & 0xffffffff, CU_MEMORYTYPE_HOST);
	WANT(number(CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer + 5), pointer + 5);
	WANT(number(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer + 5), pointer + 5);
	WANT(number(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) & 0xffffffff, 0);
	WANT(number(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer + 5), pointer);
	WANT(number(CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer + 5), BYTES - 100);
	NEED(cuMemGetAddressRange(&base, &size_bytes, pointer + 5));
	WANT(base, pointer);
	WANT(size_bytes, BYTES - 100);
}

static void ask_freed(void *memory)
{
	CUdeviceptr pointer = (CUdeviceptr)(uintptr_t)memory, base;
	unsigned long long value;
	size_t size_bytes;

	WANT(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), CUDA_ERROR_INVALID_VALUE);
	WANT(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer + 5), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemGetAddressRange(&base, &size_bytes, pointer), CUDA_ERROR_NOT_FOUND);
}

int main(void)
{
	CUcontext context = rule_start();
	unsigned long long before, after;
	void *memory;

	NEED(cuMemHostAlloc(&memory, BYTES - 100, 0));
	ask(context, memory);
	WANT(flags_of(memory), CU_MEMHOSTALLOC_DEVICEMAP);
	before = number(CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)(uintptr_t)memory);
	NEED(cuMemFreeHost(memory));
	ask_freed(memory);
	NEED(cuMemHostAlloc(&memory, BYTES - 100, 0));
	ask(context, memory);
	after = number(CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)(uintptr_t)memory);
	WANT(after != before, 1);
	NEED(cuMemFreeHost(memory));
	NEED(cuMemHostAlloc(&memory, BYTES - 100, CU_MEMHOSTALLOC_PORTABLE));
	ask(context, memory);
	WANT(flags_of(memory), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	NEED(cuMemFreeHost(memory));
	NEED(cuMemHostAlloc(&memory, BYTES - 100, CU_MEMHOSTALLOC_WRITECOMBINED));
	WANT(flags_of(memory), CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP);
	NEED(cuMemFreeHost(memory));
	NEED(cuMemAllocHost(&memory, BYTES - 100));
	ask(context, memory);
	WANT(flags_of(memory), CU_MEMHOSTALLOC_DEVICEMAP);
	NEED(cuMemFreeHost(memory));
	ask_freed(memory);
	memory = &context;
	NEED(cuMemHostAlloc(&memory, 0, 0));
	WANT((uintptr_t)memory, 0);
	WANT(cuMemHostAlloc(&memory, 4096, 0x100), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostAlloc(NULL, 4096, 0), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
