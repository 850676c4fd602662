/* Rule: cuGetProcAddress answers by (name, version, flags) with the exported function: the newest not newer than
 * asked; flag 2 gives the per-thread twin; names that do not exist and versions that are too old are a success with
 * their own status and no address, and NOT_FOUND where there is no place for the status. */
#include <cudaTypedefs.h>

#include "tests/conformance/rule_drv.h"

struct row {
	const char *name;
	int version;
	cuuint64_t flags;
	const char *symbol; /* NULL = not found */
	int status;
};

static const struct row rows[] = {
    {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuMemAlloc", 13000, 2, "cuMemAlloc_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuLaunchKernel", 4000, 0, "cuLaunchKernel", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuLaunchKernel", 13000, 1, "cuLaunchKernel", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuCtxSynchronize", 2000, 0, "cuCtxSynchronize", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuStreamGetCaptureInfo", 12030, 2, "cuStreamGetCaptureInfo_v3_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuGetProcAddress", 11030, 0, "cuGetProcAddress", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", CU_GET_PROC_ADDRESS_SUCCESS},
    {"cuLaunchKernelEx", 11050, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
    {"cuNoSuchFunction", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
    {"cuMemAlloc_v2", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
    {"", 0, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
};

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	PFN_cuGetProcAddress_v11030 without_status;

	*(void **)&without_status = dlsym(driver, "cuGetProcAddress");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		CUresult unsaid = row->symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
		CUdriverProcAddressQueryResult status = 99;
		void *pointer = &status;
		CUresult result = cuGetProcAddress(row->name, &pointer, row->version, row->flags, &status);

		if (result != CUDA_SUCCESS || (int)status != row->status ||
		    (row->symbol && pointer != dlsym(driver, row->symbol)) || (!row->symbol && pointer)) {
			printf("(%s, %d, %d): result %d status %d pointer %p\n", row->name, row->version,
			       (int)row->flags, result, (int)status, pointer);
			rule_broken = 1;
		}
		WANT(cuGetProcAddress(row->name, &pointer, row->version, row->flags, NULL), CUDA_SUCCESS);
		WANT(without_status(row->name, &pointer, row->version, row->flags), unsaid);
	}
	return rule_broken;
}
