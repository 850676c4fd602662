/* A tool that people preload: it gives the runtime a cuMemAllocAsync of its own, which calls that of the shim
 * behind it. */
#pragma GCC optimize("no-optimize-sibling-calls")
#include "tests/preload/own.h"

#include <cuda.h>
#include <cudaTypedefs.h>

unsigned tool_allocs(void);

static unsigned allocs;
static PFN_cuMemAllocAsync_v11020 next_alloc;
static PFN_cuGetProcAddress_v12000 next_find;

unsigned tool_allocs(void)
{
	return allocs;
}

static CUresult tool_alloc(CUdeviceptr *address, size_t size_bytes, CUstream stream)
{
	allocs++;
	return next_alloc(address, size_bytes, stream);
}

static CUresult tool_find(const char *name, void **function, int version, cuuint64_t flags,
			  CUdriverProcAddressQueryResult *status)
{
	CUresult result = next_find(name, function, version, flags, status);

	if (result == CUDA_SUCCESS && !strcmp(name, "cuMemAllocAsync") && flags == CU_GET_PROC_ADDRESS_DEFAULT) {
		next_alloc = (PFN_cuMemAllocAsync_v11020)*function;
		*function = (void *)tool_alloc;
	}
	return result;
}

void *dlsym(void *handle, const char *name)
{
	static own_dlsym_fn *own, *next;
	void *shim, *found;

	if (next == NULL) {
		*(void **)&own = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		shim = dlopen("libgpushim.so", RTLD_LAZY | RTLD_NOLOAD);
		*(void **)&next = shim != NULL ? own(shim, "dlsym") : (void *)own;
	}
	found = next(handle, name);
	if (found == NULL || strcmp(name, "cuGetProcAddress_v2") != 0)
		return found;
	next_find = (PFN_cuGetProcAddress_v12000)found;
	return (void *)tool_find;
}
