/* Rule (H6): a destroyed stream's handle is refused and its work still completes; ids of streams are never reused; the
 * legacy stream has one id by both its handles, the per-thread stream another. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	unsigned long long first_id = 0, id = 0;
	unsigned value = 0;
	CUdeviceptr pointer;
	CUcontext context, of_stream;
	CUstream stream;

	context = rule_start();
	NEED(cuMemAlloc(&pointer, 64));
	NEED(cuMemsetD32(pointer, 0, 16));
	NEED(cuCtxSynchronize());
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamGetId(stream, &first_id));
	NEED(cuStreamGetCtx(stream, &of_stream));
	WANT(of_stream == context, 1);
	NEED(cuMemsetD32Async(pointer, 5, 16, stream));
	NEED(cuStreamDestroy(stream));
	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH(&value, pointer, 4));
	WANT(value, 5);
	NEED(cuStreamCreate(&stream, 0));
	NEED(cuStreamGetId(stream, &id));
	WANT(id != first_id, 1);
	NEED(cuStreamGetId(NULL, &first_id));
	NEED(cuStreamGetId(CU_STREAM_LEGACY, &id));
	WANT(id, first_id);
	NEED(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
	WANT(id != first_id, 1);
	WANT(cuStreamCreate(&stream, 0x80), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	return rule_broken;
}
