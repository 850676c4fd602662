/* The driver's calls with what they refuse: see bad_input.h. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define bad_malloc cuMemAlloc_v2
#define bad_free cuMemFree_v2
#define bad_malloc_async cuMemAllocAsync
#define bad_free_async cuMemFreeAsync

static void bad_use_device(int ordinal);
static int bad_device_of(CUdeviceptr block);

#include "tests/preload/bad_input.h"

static void bad_use_device(int ordinal)
{
	CUcontext context;

	MUST(cuDevicePrimaryCtxRetain(&context, ordinal));
	MUST(cuCtxSetCurrent(context));
}

static int bad_device_of(CUdeviceptr block)
{
	int ordinal = -1;

	MUST(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
	return ordinal;
}

int main(int argc, char **argv)
{
	MUST(cuInit(0));
	bad_use_device(0);
	return bad_input(argc, argv);
}
