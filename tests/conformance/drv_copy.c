/* Rule: copies move the bytes they name, in every direction and in two dimensions, and memsets write every element. */
#include <string.h>

#include "tests/conformance/rule_drv.h"

int main(void)
{
	static unsigned char in[4096], out[4096];
	CUDA_MEMCPY2D shape = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = in,
			       .srcPitch = 64,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = 128,
			       .WidthInBytes = 16,
			       .Height = 4};
	CUdeviceptr a, b;

	rule_start();
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 7 + 3);
	NEED(cuMemAlloc(&a, sizeof(in)));
	NEED(cuMemAlloc(&b, sizeof(in)));
	NEED(cuMemcpyHtoD(a, in, sizeof(in)));
	NEED(cuMemcpyDtoD(b, a, sizeof(in)));
	NEED(cuMemcpyDtoH(out, b, sizeof(in)));
	WANT(memcmp(in, out, sizeof(in)), 0);
	NEED(cuMemsetD32(b, 0x01020304, 1024));
	NEED(cuMemsetD16(b + 8, 0xBEEF, 2));
	NEED(cuMemsetD8(b + 16, 0x5A, 3));
	NEED(cuMemcpyDtoH(out, b, 32));
	WANT(memcmp(out, "\4\3\2\1\4\3\2\1\xEF\xBE\xEF\xBE\4\3\2\1\x5A\x5A\x5A\1", 20), 0);
	NEED(cuMemsetD8(a, 0, sizeof(in)));
	shape.dstDevice = a;
	NEED(cuMemcpy2D(&shape));
	NEED(cuMemcpyDtoH(out, a, sizeof(in)));
	WANT(memcmp(out + 128, in + 64, 16), 0);
	WANT(out[16], 0);
	WANT(memcmp(out + 384, in + 192, 16), 0);
	WANT(cuMemcpyDtoH(out, (CUdeviceptr)(uintptr_t)in, 16), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpyHtoD(a, in, 0), CUDA_SUCCESS);
	return rule_broken;
}
