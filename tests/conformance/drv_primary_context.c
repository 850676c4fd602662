/* Rule: the primary context is one per device, is active while retained, and a release too many is refused. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUcontext first, second;
	unsigned flags;
	int active = -1;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxGetState(0, &flags, &active));
	WANT(active, 0);
	NEED(cuDevicePrimaryCtxRetain(&first, 0));
	NEED(cuDevicePrimaryCtxRetain(&second, 0));
	WANT(first == second, 1);
	NEED(cuDevicePrimaryCtxGetState(0, &flags, &active));
	WANT(active, 1);
	WANT(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT);
	NEED(cuDevicePrimaryCtxRelease(0));
	NEED(cuDevicePrimaryCtxRelease(0));
	NEED(cuDevicePrimaryCtxGetState(0, &flags, &active));
	WANT(active, 0);
	WANT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	return rule_broken;
}
