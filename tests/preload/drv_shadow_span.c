/* One memset over two adjacent mappings, of which one (argv[1]: "first", "second", or "neither") is unmapped while it
 * is queued, or ("both") after it ran. Prints how many errors the simulated driver counted. */
#include <string.h>

#include "tests/conformance/rule_drv.h"
#include "tests/preload/shadow.h"

#define G ((size_t)2 << 20)

int main(int argc, char **argv)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const char *what = argc > 1 ? argv[1] : "neither";
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAddressReserve(&base, 2 * G, 0, 0, 0));
	for (unsigned i = 0; i < 2; i++) {
		NEED(cuMemCreate(&handle, G, &prop, 0));
		NEED(cuMemMap(base + i * G, G, 0, handle, 0));
		NEED(cuMemRelease(handle));
	}
	NEED(cuMemSetAccess(base, 2 * G, &access, 1));
	NEED(cuMemsetD8Async(base + G - 64, 1, 128, stream));
	if (strcmp(what, "first") == 0)
		NEED(cuMemUnmap(base, G));
	else if (strcmp(what, "second") == 0)
		NEED(cuMemUnmap(base + G, G));
	(void)cuStreamSynchronize(stream);
	if (strcmp(what, "both") == 0)
		NEED(cuMemUnmap(base, 2 * G));
	printf("%lu errors\n", shadow_errors());
	return rule_broken;
}
