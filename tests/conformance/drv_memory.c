/* Rule: what cuMemAlloc and cuMemFree accept and refuse, and that cuMemGetInfo follows them. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)32 << 20)

int main(void)
{
	size_t before, during, after, total, size;
	CUdeviceptr pointer, base;

	rule_start();
	NEED(cuMemGetInfo(&before, &total));
	WANT(before <= total, 1);
	WANT(cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemAlloc(NULL, 64), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemAlloc(&pointer, BYTES));
	WANT(pointer % 256, 0);
	NEED(cuMemGetInfo(&during, &total));
	WANT(before - during >= BYTES, 1);
	NEED(cuMemGetAddressRange(&base, &size, pointer + 100));
	WANT(base, pointer);
	WANT(size, BYTES);
	WANT(cuMemFree(pointer + 256), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemFree(0x1234), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemFree(0), CUDA_SUCCESS);
	NEED(cuMemFree(pointer));
	WANT(cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemGetInfo(&after, &total));
	WANT(after, before);
	return rule_broken;
}
