/* Rule: peer access is enabled once, refused twice, and memory of one device can be copied to the other,
 * and reached by its kernels once that was enabled, also what is allocated afterwards. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUcontext first = rule_start(), second;
	CUdeviceptr a, b, later;
	unsigned value = 0;
	int count = 0, can = 0;

	NEED(cuDeviceGetCount(&count));
	if (count < 2) {
		printf("needs two devices\n");
		return 77;
	}
	NEED(cuDeviceCanAccessPeer(&can, 0, 1));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemsetD32(a, 21, 16));
	NEED(cuDevicePrimaryCtxRetain(&second, 1));
	WANT(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	if (can) {
		WANT(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
		NEED(cuCtxEnablePeerAccess(second, 0));
		WANT(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
		NEED(cuCtxDisablePeerAccess(second));
	}
	NEED(cuCtxSetCurrent(second));
	NEED(cuMemAlloc(&b, 64));
	NEED(cuMemcpyPeer(b, second, a, first, 64));
	NEED(cuMemcpyDtoH(&value, b, 4));
	WANT(value, 21);
	if (can) {
		NEED(cuCtxEnablePeerAccess(first, 0));
		rule_fill(NULL, a, 22, 16);
		NEED(cuCtxSynchronize());
		NEED(cuMemcpyDtoH(&value, a, 4));
		WANT(value, 22);
		NEED(cuCtxSetCurrent(first));
		NEED(cuMemAlloc(&later, 64 << 20));
		NEED(cuCtxSetCurrent(second));
		rule_fill(NULL, later, 23, 16);
		NEED(cuCtxSynchronize());
		NEED(cuMemcpyDtoH(&value, later, 4));
		WANT(value, 23);
	}
	return rule_broken;
}
