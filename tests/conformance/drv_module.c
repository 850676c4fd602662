/* Rule: a module ends with its context, and a library does not: its kernels can be launched in any context, and have a function
 * of their own in each. A module can be loaded where another one has ended. */
#include "tests/conformance/rule_drv.h"

static unsigned filled(CUfunction with, unsigned value)
{
	unsigned long long count = 4;
	unsigned got = 0;
	CUdeviceptr a;
	void *params[] = {&a, &value, &count};

	NEED(cuMemAlloc(&a, 16));
	NEED(cuLaunchKernel(with, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	NEED(cuMemcpyDtoH(&got, a + 12, 4));
	NEED(cuMemFree(a));
	return got;
}

int main(void)
{
	CUcontext primary = rule_start(), created;
	CUfunction function, of_primary, of_created;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;

	WANT(filled(rule_kernel("sim_fill"), 1), 1);
	NEED(cuLibraryLoadData(&library, rule_image(), NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&kernel, library, "sim_fill"));
	NEED(cuKernelGetFunction(&of_primary, kernel));
	NEED(cuCtxCreate(&created, NULL, 0, 0));
	NEED(cuModuleLoadData(&module, rule_image()));
	NEED(cuModuleGetFunction(&function, module, "sim_fill"));
	WANT(filled(function, 2), 2);
	NEED(cuKernelGetFunction(&of_created, kernel));
	WANT(filled(of_created, 3), 3);
	WANT(filled((CUfunction)kernel, 4), 4);
	NEED(cuCtxDestroy(created));
	NEED(cuCtxSetCurrent(primary));
	if (!sim_is_real()) { /* another driver may look at what is gone */
		WANT(cuModuleGetFunction(&function, module, "sim_fill"), CUDA_ERROR_INVALID_HANDLE);
		WANT(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
	}
	WANT(filled(of_primary, 5), 5);
	WANT(filled((CUfunction)kernel, 6), 6);
	WANT(filled(rule_kernel("sim_fill"), 7), 7);
	NEED(cuModuleLoadData(&module, rule_image()));
	NEED(cuModuleGetFunction(&function, module, "sim_fill"));
	WANT(filled(function, 8), 8);
	NEED(cuModuleUnload(module));
	NEED(cuLibraryUnload(library));
	return rule_broken;
}
