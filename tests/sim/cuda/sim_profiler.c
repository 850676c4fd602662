/* Profiler control: there is no profiler, and starting and stopping it is fine. */
#include "tests/sim/cuda/sim_ctx.h"

CUresult cuProfilerStart(void)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuProfilerStart);
	return sim_ctx_current(&ctx);
}

CUresult cuProfilerStop(void)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuProfilerStop);
	return sim_ctx_current(&ctx);
}
