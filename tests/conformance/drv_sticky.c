/* Rule: a kernel that fails breaks its context. Its launch succeeds; whatever is called next returns the error, on every
 * stream and about work that had been done long before; what needs no context still works. */
#include "tests/conformance/rule_drv.h"

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
			  ".visible .entry good()\n{\n\tret;\n}\n"
			  ".visible .entry bad()\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n\tmov.u64 %rd1, 64;\n"
			  "\tmov.u32 %r1, 1;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

static CUmodule module;

static CUfunction function(const char *real, const char *simulated)
{
	CUfunction found;

	NEED(cuModuleGetFunction(&found, module, sim_is_real() ? real : simulated));
	return found;
}

int main(void)
{
	unsigned code = CUDA_ERROR_ILLEGAL_ADDRESS, steps = 1;
	void *fail_params[] = {&code}, *delay_params[] = {&steps};
	CUfunction good, bad;
	CUstream first, second;
	CUcontext context = rule_start(), current = NULL;
	CUdeviceptr memory;
	size_t free_bytes, total_bytes;
	const char *name = NULL;
	CUresult result;
	CUevent event;

	result = cuModuleLoadData(&module, sim_is_real() ? ptx : "simulated");
	if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
		printf("no compiler in the driver\n");
		return 77;
	}
	NEED(result);
	good = function("good", "sim_delay");
	bad = function("bad", "sim_fail");
	NEED(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuLaunchKernel(good, 1, 1, 1, 1, 1, 1, 0, first, delay_params, NULL));
	NEED(cuEventRecord(event, first));
	NEED(cuEventSynchronize(event));
	NEED(cuLaunchKernel(good, 1, 1, 1, 1, 1, 1, 0, second, delay_params, NULL));
	NEED(cuStreamSynchronize(second));

	NEED(cuLaunchKernel(bad, 1, 1, 1, 1, 1, 1, 0, first, fail_params, NULL));
	WANT(cuStreamSynchronize(first), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuStreamSynchronize(second), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuStreamQuery(second), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuLaunchKernel(good, 1, 1, 1, 1, 1, 1, 0, second, delay_params, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuMemAlloc(&memory, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuMemGetInfo(&free_bytes, &total_bytes), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuCtxGetCurrent(&current), CUDA_SUCCESS);
	WANT(current == context, 1);
	WANT(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name), CUDA_SUCCESS);
	return rule_broken;
}
