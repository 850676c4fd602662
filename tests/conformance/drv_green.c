/* Rule (H1, H6): when a green context is destroyed, the other contexts of the device go on, and memory is made, freed and
 * used in them as before. */
#include "tests/conformance/rule_drv.h"

static void make_and_free(void)
{
	CUdeviceptr memory;
	unsigned char byte = 0;

	NEED(cuMemAlloc(&memory, 1 << 20));
	NEED(cuMemsetD8(memory, 7, 1 << 20));
	NEED(cuMemcpyDtoH(&byte, memory + 12345, 1));
	WANT(byte, 7);
	NEED(cuMemFree(memory));
}

int main(void)
{
	CUcontext primary = rule_start(), context;
	CUdevResourceDesc description;
	CUdevResource resource;
	CUgreenCtx green;
	CUdevice device;

	NEED(cuCtxGetDevice(&device));
	if (cuDeviceGetDevResource(device, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
		return 77;
	make_and_free();
	for (int round = 0; round < 3; round++) {
		NEED(cuDevResourceGenerateDesc(&description, &resource, 1));
		NEED(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
		NEED(cuCtxFromGreenCtx(&context, green));
		NEED(cuCtxSetCurrent(context));
		make_and_free();
		NEED(cuCtxSetCurrent(primary));
		NEED(cuGreenCtxDestroy(green));
		for (int i = 0; i < 20; i++)
			make_and_free();
	}
	return rule_broken;
}
