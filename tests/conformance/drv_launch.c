/* Rule: clusters divide the grid; a launch takes parameters from an array or a packed buffer, copies them at the call, and takes a CUkernel
 * where it takes a CUfunction; cuFuncGetParamInfo refuses a CUkernel, cuKernelGetParamInfo serves it. */
#include <string.h>

#include "tests/conformance/rule_drv.h"

int main(void)
{
	unsigned out[16], value = 4;
	unsigned long long count = 16;
	CUdeviceptr a;
	void *params[] = {&a, &value, &count};
	struct {
		CUdeviceptr dst;
		unsigned value;
		unsigned long long count;
	} packed;
	size_t packed_bytes = sizeof(packed), offset = 9, size = 9;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
			 CU_LAUNCH_PARAM_END};
	CUlaunchConfig config = {
	    .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
	CUfunction function, from_kernel, missing;
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	const char *name = "";
	int clusters;

	rule_start();
	function = rule_kernel("sim_fill");
	NEED(cuMemAlloc(&a, sizeof(out)));
	NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	value = 5;
	NEED(cuMemcpyDtoH(out, a, sizeof(out)));
	WANT(out[15], 4);
	packed.dst = a;
	packed.value = 6;
	packed.count = 8;
	NEED(cuLaunchKernelEx(&config, function, NULL, extra));
	NEED(cuMemcpyDtoH(out, a, sizeof(out)));
	WANT(out[7], 6);
	WANT(out[8], 4);
	NEED(cuLibraryLoadData(&library, rule_image(), NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&kernel, library, "sim_fill"));
	NEED(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	NEED(cuMemcpyDtoH(out, a, sizeof(out)));
	WANT(out[15], 5);
	WANT(cuFuncGetParamInfo((CUfunction)kernel, 0, &offset, &size) != CUDA_SUCCESS, 1);
	NEED(cuKernelGetParamInfo(kernel, 1, &offset, &size));
	WANT(offset, 8);
	WANT(size, 4);
	WANT(cuKernelGetParamInfo(kernel, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	NEED(cuFuncGetParamInfo(function, 2, &offset, &size));
	WANT(offset, 16);
	WANT(cuFuncGetParamInfo(function, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	NEED(cuKernelGetFunction(&from_kernel, kernel));
	NEED(cuFuncGetName(&name, from_kernel));
	WANT(strcmp(name, "sim_fill"), 0);
	NEED(cuFuncGetModule(&module, function));
	WANT(cuModuleGetFunction(&missing, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
	WANT(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	NEED(cuDeviceGetAttribute(&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	if (clusters) {
		config.gridDimX = 4;
		config.attrs = &cluster;
		config.numAttrs = 1;
		NEED(cuLaunchKernelEx(&config, function, params, NULL));
		cluster.value.clusterDim.x = 3;
		WANT(cuLaunchKernelEx(&config, function, params, NULL) != CUDA_SUCCESS, 1);
		cluster.value.clusterDim.x = 0;
		WANT(cuLaunchKernelEx(&config, function, params, NULL) != CUDA_SUCCESS, 1);
	}
	WANT(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	WANT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
