/* Rule (H6): destroying a context frees its cuMemAlloc memory but not memory from cuMemCreate. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)64 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle;
	size_t before, during, after, total;
	CUcontext created;
	CUdeviceptr pointer;

	rule_start();
	NEED(cuMemGetInfo(&before, &total));
	NEED(cuCtxCreate(&created, NULL, 0, 0));
	NEED(cuMemAlloc(&pointer, BYTES));
	NEED(cuMemCreate(&handle, BYTES, &prop, 0));
	NEED(cuMemGetInfo(&during, &total));
	WANT(before - during >= 2 * BYTES, 1);
	NEED(cuCtxDestroy(created));
	NEED(cuMemGetInfo(&after, &total));
	WANT(after - during >= BYTES, 1);
	WANT(before - after >= BYTES, 1);
	NEED(cuMemRelease(handle));
	NEED(cuMemGetInfo(&after, &total));
	WANT(after, before);
	return rule_broken;
}
