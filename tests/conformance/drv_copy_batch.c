/* Rule: a batch of copies runs in the order of its stream; entries of attributes must cover it from its first copy on;
 * the NULL stream is refused. */
#include "tests/conformance/rule_drv.h"

#if CUDA_VERSION >= 13000

#define BYTES 4096u

int main(void)
{
	CUmemcpyAttributes attributes[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
					    {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY}};
	size_t first[2] = {0, 1}, wrong[2] = {1, 2}, sizes[2] = {BYTES, BYTES};
	CUdeviceptr a, b, dsts[2], srcs[2];
	unsigned char seen[BYTES];
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 2 * BYTES));
	NEED(cuMemAlloc(&b, 2 * BYTES));
	NEED(cuMemsetD8(b, 0, 2 * BYTES));
	NEED(cuCtxSynchronize());
	dsts[0] = b;
	dsts[1] = b + BYTES;
	srcs[0] = a;
	srcs[1] = a + BYTES;
	NEED(cuMemsetD8Async(a, 7, 2 * BYTES, stream));
	NEED(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, first, 2, stream));
	NEED(cuMemsetD8Async(a, 9, 2 * BYTES, stream));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(seen, b + BYTES, BYTES));
	WANT(seen[BYTES - 1], 7);
	WANT(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, wrong, 1, stream), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, first, 0, stream), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpyBatchAsync(dsts, srcs, sizes, 0, attributes, first, 1, stream), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, first, 2, NULL), CUDA_ERROR_INVALID_VALUE);
	attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
	WANT(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, first, 2, stream), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}

#else

int main(void)
{
	return 77; /* the headers have another list of arguments */
}

#endif
