/* Rule: a released handle keeps its memory until the last mapping is gone; while mapped it can be retained again. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)64 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle, again;
	size_t before, now, total;
	CUdeviceptr base;

	rule_start();
	NEED(cuMemGetInfo(&before, &total));
	NEED(cuMemAddressReserve(&base, BYTES, 0, 0, 0));
	NEED(cuMemCreate(&handle, BYTES, &prop, 0));
	NEED(cuMemMap(base, BYTES, 0, handle, 0));
	NEED(cuMemRelease(handle));
	NEED(cuMemGetInfo(&now, &total));
	WANT(before - now >= BYTES, 1);
	NEED(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + 12345)));
	WANT(again, handle);
	NEED(cuMemUnmap(base, BYTES));
	NEED(cuMemGetInfo(&now, &total));
	WANT(before - now >= BYTES, 1);
	NEED(cuMemRelease(again));
	NEED(cuMemGetInfo(&now, &total));
	WANT(now, before);
	NEED(cuMemAddressFree(base, BYTES));
	return rule_broken;
}
