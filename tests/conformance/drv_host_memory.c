/* Rule: pinned and registered host memory: what can be freed and unregistered, and what is refused. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	static char memory[8192] __attribute__((aligned(4096)));
	CUdeviceptr pointer = 0;
	void *pinned;

	rule_start();
	NEED(cuMemHostAlloc(&pinned, 10000, CU_MEMHOSTALLOC_PORTABLE));
	NEED(cuMemHostGetDevicePointer(&pointer, pinned, 0));
	WANT(pointer, (uintptr_t)pinned);
	WANT(cuMemFreeHost((char *)pinned + 16), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostUnregister(pinned), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemFreeHost(pinned));
	WANT(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemHostGetDevicePointer(&pointer, memory, 0), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemHostRegister(memory, sizeof(memory), 0));
	WANT(cuMemHostRegister(memory, sizeof(memory), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	WANT(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemHostUnregister(memory));
	WANT(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	return rule_broken;
}
