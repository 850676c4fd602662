/* Start-up of the rules that use the driver API. */
#ifndef RULE_DRV_H
#define RULE_DRV_H

#include <cuda.h>

#include "tests/conformance/rule.h"

/* Device 0 with its primary context current. */
static inline CUcontext rule_start(void)
{
	CUcontext context;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	return context;
}

static inline CUfunction rule_kernel(const char *name)
{
	static CUmodule module;
	CUfunction function;

	rule_simulator_only("kernels by name");
	if (!module)
		NEED(cuModuleLoadData(&module, "simulated"));
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
