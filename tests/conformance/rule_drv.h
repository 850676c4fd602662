/* Start-up of the rules that use the driver API, and kernels for them: on a real driver those of rule_ptx, which are called
 * as the simulator's own are. */
#ifndef RULE_DRV_H
#define RULE_DRV_H

#include <cuda.h>

#include "tests/conformance/rule.h"

/* One thread fills. A step of sim_delay is 10 us. */
static const char rule_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry sim_fill(.param .u64 to, .param .u32 value, .param .u64 count)\n{\n"
    "\t.reg .pred %p<3>;\n\t.reg .b32 %r<5>;\n\t.reg .b64 %rd<5>;\n"
    "\tld.param.u64 %rd1, [to];\n\tld.param.u32 %r1, [value];\n\tld.param.u64 %rd2, [count];\n"
    "\tcvta.to.global.u64 %rd3, %rd1;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %tid.x;\n\tor.b32 %r4, %r2, %r3;\n"
    "\tsetp.ne.u32 %p1, %r4, 0;\n\t@%p1 bra END;\n"
    "NEXT:\n\tsetp.eq.u64 %p2, %rd2, 0;\n\t@%p2 bra END;\n\tst.global.u32 [%rd3], %r1;\n\tadd.u64 %rd3, %rd3, 4;\n"
    "\tsub.u64 %rd2, %rd2, 1;\n\tbra NEXT;\n"
    "END:\n\tret;\n}\n"
    ".visible .entry sim_delay(.param .u32 steps)\n{\n"
    "\t.reg .pred %p<2>;\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<4>;\n"
    "\tld.param.u32 %r1, [steps];\n\tmul.wide.u32 %rd1, %r1, 10000;\n\tmov.u64 %rd2, %globaltimer;\n"
    "\tadd.u64 %rd1, %rd1, %rd2;\n"
    "AGAIN:\n\tmov.u64 %rd3, %globaltimer;\n\tsetp.lt.u64 %p1, %rd3, %rd1;\n\t@%p1 bra AGAIN;\n"
    "\tret;\n}\n";

static inline const void *rule_image(void)
{
	return sim_is_real() ? rule_ptx : "simulated";
}

/* Device 0 with its primary context current. */
static inline CUcontext rule_start(void)
{
	CUcontext context;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* or a kernel's first launch may wait for work under way */
	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	return context;
}

/* Of a module of the context that is current. */
static inline CUfunction rule_kernel(const char *name)
{
	static CUcontext loaded_in;
	static CUmodule module;
	CUcontext context;
	CUfunction function;
	CUresult result = CUDA_SUCCESS;

	NEED(cuCtxGetCurrent(&context));
	if (context != loaded_in)
		result = cuModuleLoadData(&module, rule_image());
	if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
		printf("no compiler in the driver\n");
		exit(77);
	}
	NEED(result);
	loaded_in = context;
	NEED(cuModuleGetFunction(&function, module, name));
	return function;
}

/* dst[0..count) = value on the stream */
static inline void rule_fill(CUstream stream, CUdeviceptr dst, unsigned value, unsigned long long count)
{
	void *params[] = {&dst, &value, &count};

	NEED(cuLaunchKernel(rule_kernel("sim_fill"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

/* Keeps the stream busy for that many steps. */
static inline void rule_delay(CUstream stream, unsigned steps)
{
	void *params[] = {&steps};

	NEED(cuLaunchKernel(rule_kernel("sim_delay"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

/* Edges of a graph, in the words of the headers at hand. */
static inline size_t rule_edges(CUgraph of)
{
	size_t count = 0;

#if CUDA_VERSION >= 13000
	NEED(cuGraphGetEdges(of, NULL, NULL, NULL, &count));
#else
	NEED(cuGraphGetEdges(of, NULL, NULL, &count));
#endif
	return count;
}

#endif
