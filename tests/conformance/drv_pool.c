/* Rule (H7): stream-ordered allocation: a freed block may come back on its stream at once and on another one only when
 * the free has been reached; the pool counts the bytes asked for; plain memory can be freed that way too; a second free
 * and a foreign address are refused. */
#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)8 << 20)

static unsigned long long figure(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	cuuint64_t value = 99;

	NEED(cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

int main(void)
{
	cuuint64_t keep = (cuuint64_t)-1, none = 0;
	CUmemoryPool pool, current;
	CUdeviceptr first, second, plain;
	CUstream one, two;

	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuDeviceGetDefaultMemPool(&pool, 0));
	NEED(cuDeviceGetMemPool(&current, 0));
	WANT(pool == current, 1);
	WANT(figure(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
	NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	NEED(cuMemAllocAsync(&first, BYTES, one));
	WANT(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), BYTES);
	WANT(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= BYTES, 1);
	NEED(cuMemsetD8Async(first, 1, BYTES, one));
	if (!sim_is_real())
		rule_delay(one, 100000);
	NEED(cuMemFreeAsync(first, one));
	WANT(cuMemFreeAsync(first, one), CUDA_ERROR_INVALID_VALUE);
	WANT(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	NEED(cuMemAllocAsync(&second, BYTES, two));
	if (!sim_is_real())
		WANT(second != first, 1);
	NEED(cuMemFreeAsync(second, two));
	NEED(cuMemAllocAsync(&second, BYTES, one));
	WANT(second, first);
	NEED(cuMemFreeAsync(second, one));
	NEED(cuCtxSynchronize());
	WANT(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= BYTES, 1);
	NEED(cuMemPoolTrimTo(pool, 0));
	WANT(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	WANT(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= BYTES, 1);
	NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
	WANT(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
	NEED(cuMemAlloc(&plain, 64));
	WANT(cuMemFreeAsync(plain, one), CUDA_SUCCESS);
	NEED(cuStreamSynchronize(one));
	WANT(cuMemFreeAsync(0x1234, one), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemAllocAsync(&plain, 0, one), CUDA_SUCCESS);
	NEED(cuMemAllocAsync(&first, 1000, one));
	WANT(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1000);
	WANT(cuMemFreeAsync(first + 512, one), CUDA_ERROR_INVALID_VALUE);
	NEED(cuMemFreeAsync(first, one));
	WANT(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
