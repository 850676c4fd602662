/* Rule: an exported handle can be imported from its descriptor, and both see the same bytes; a handle that was not
 * made for export is refused. */
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define G ((size_t)2 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CUmemGenericAllocationHandle plain, shared, imported;
	unsigned value = 0;
	CUdeviceptr base;
	int fd = -1;

	rule_start();
	NEED(cuMemCreate(&plain, G, &prop, 0));
	WANT(cuMemExportToShareableHandle(&fd, plain, type, 0), CUDA_ERROR_INVALID_VALUE);
	prop.requestedHandleTypes = type;
	NEED(cuMemCreate(&shared, G, &prop, 0));
	NEED(cuMemExportToShareableHandle(&fd, shared, type, 0));
	NEED(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd, type));
	close(fd);
	NEED(cuMemAddressReserve(&base, 2 * G, 0, 0, 0));
	NEED(cuMemMap(base, G, 0, shared, 0));
	NEED(cuMemMap(base + G, G, 0, imported, 0));
	NEED(cuMemSetAccess(base, 2 * G, &access, 1));
	NEED(cuMemsetD32(base, 1234, 16));
	NEED(cuMemcpyDtoH(&value, base + G, 4));
	WANT(value, 1234);
	return rule_broken;
}
