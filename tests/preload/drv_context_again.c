/* Contexts that come and go, also under the handle of one that is gone; what one of them had is nobody else's. Prints
 * what the memory of each holds. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define BYTES (8u << 20)
#define ROUNDS 6

#define NEED(call)                                                                                                     \
	do {                                                                                                           \
		CUresult result_ = (call);                                                                             \
		if (result_ != CUDA_SUCCESS) {                                                                         \
			printf("line %d: " #call " gives %d\n", __LINE__, (int)result_);                               \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static unsigned word(CUdeviceptr memory)
{
	unsigned value = 0;

	NEED(cuMemcpyDtoH_v2(&value, memory + BYTES - 4, 4));
	return value;
}

/* What the first context freed is not for the second, which outlives it. */
static void lent(void)
{
	CUcontext first, second;
	CUdeviceptr memory;

	NEED(cuCtxCreate_v2(&first, 0, 0));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize());
	NEED(cuCtxCreate_v2(&second, 0, 0));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemsetD32_v2(memory, 41, BYTES / 4));
	NEED(cuCtxDestroy_v2(first));
	printf("memory of the second context: %u\n", word(memory));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxDestroy_v2(second));
}

/* Work of a context that ends, and memory that it never frees; the next one may have its handle. */
static void again(void)
{
	CUdeviceptr kept, pooled, freed, old = 0;
	CUcontext context, before = NULL;
	unsigned handles = 0, stale = 0;
	CUstream stream;

	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(cuCtxCreate_v2(&context, 0, 0));
		handles += context == before;
		before = context;
		stale += old != 0 && cuMemFree_v2(old) == CUDA_SUCCESS;
		NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		NEED(cuMemAlloc_v2(&kept, BYTES));
		NEED(cuMemAlloc_v2(&freed, BYTES));
		NEED(cuMemAllocAsync(&pooled, BYTES, stream));
		NEED(cuMemsetD32Async(freed, 7, BYTES / 4, stream));
		NEED(cuMemsetD32Async(pooled, i, BYTES / 4, stream));
		NEED(cuMemsetD32Async(kept, 100 + i, BYTES / 4, stream));
		NEED(cuMemFree_v2(freed));
		NEED(cuStreamSynchronize(stream));
		printf("round %u: %u and %u\n", i, word(kept), word(pooled));
		NEED(cuMemFreeAsync(pooled, stream));
		NEED(cuCtxDestroy_v2(context));
		old = kept;
	}
	printf("memory of a context that is gone was freed %u times\n", stale);
	fprintf(stderr, "the same handle %u times\n", handles);
}

int main(void)
{
	NEED(cuInit(0));
	lent();
	again();
	return 0;
}
