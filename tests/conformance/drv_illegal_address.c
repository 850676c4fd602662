/* Rule: work that reaches memory which was unmapped under it fails, and the error sticks to the context. A free that
 * waits for a copy behind that work is the first to tell. (The simulated driver would end the process with a status of
 * its own as well.) */
#include "tests/conformance/rule_drv.h"

#define G ((size_t)2 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base, plain;
	CUstream stream;
	void *host;

	setenv("SIM_SHADOW", "off", 1);
	rule_start();
	rule_simulator_only("whether cuMemUnmap waits is the driver's choice");
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAddressReserve(&base, G, 0, 0, 0));
	NEED(cuMemCreate(&handle, G, &prop, 0));
	NEED(cuMemAlloc(&plain, 64));
	NEED(cuMemHostAlloc(&host, 64, 0));
	NEED(cuMemMap(base, G, 0, handle, 0));
	NEED(cuMemSetAccess(base, G, &access, 1));
	rule_delay(stream, 1000);
	NEED(cuMemsetD32Async(base, 1, 16, stream));
	NEED(cuMemcpyDtoHAsync(host, plain, 64, stream));
	NEED(cuMemUnmap(base, G));
	WANT(cuMemFree(plain), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuMemAlloc(&plain, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	return rule_broken;
}
