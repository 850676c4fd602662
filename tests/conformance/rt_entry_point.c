/* Rule: cudaGetDriverEntryPointByVersion is cuGetProcAddress: by version, and its _ptsz twin gives the driver's twins;
 * what does not exist is success with a status. */
#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

typedef cudaError_t entry_fn(const char *, void **, unsigned, unsigned long long,
			     enum cudaDriverEntryPointQueryResult *);

int main(void)
{
	enum cudaDriverEntryPointQueryResult status;
	entry_fn *entry_ptsz;
	void *pointer = NULL, *driver;

	NEED(cudaFree(NULL));
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	*(void **)&entry_ptsz = dlsym(RTLD_DEFAULT, "cudaGetDriverEntryPointByVersion_ptsz");
	NEED(cudaGetDriverEntryPointByVersion("cuMemAlloc", &pointer, 12000, cudaEnableDefault, &status));
	WANT(pointer == dlsym(driver, "cuMemAlloc_v2"), 1);
	WANT(status, cudaDriverEntryPointSuccess);
	NEED(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &pointer, 12000, cudaEnableDefault, &status));
	WANT(pointer == dlsym(driver, "cuLaunchKernel"), 1);
	NEED(entry_ptsz("cuLaunchKernel", &pointer, 12000, cudaEnableDefault, &status));
	WANT(pointer == dlsym(driver, "cuLaunchKernel_ptsz"), 1);
	NEED(entry_ptsz("cuLaunchKernel", &pointer, 12000, cudaEnableLegacyStream, &status));
	WANT(pointer == dlsym(driver, "cuLaunchKernel"), 1);
	NEED(cudaGetDriverEntryPointByVersion("cuNoSuch", &pointer, 12000, cudaEnableDefault, &status));
	WANT(status, cudaDriverEntryPointSymbolNotFound);
	WANT(pointer == NULL, 1);
	return rule_broken;
}
