/* The driver API from several threads, each with a context of its own beside the primary one, which they all use, too:
 * allocations, copies, memsets and streams in both; a context is destroyed with memory still in it. */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>

#include "tests/gpu/check.h"

enum { THREADS = 6, ROUNDS = 40, COUNT = 20000 };

static CUdevice device;
static CUcontext primary;
static uint64_t sums[THREADS];

static unsigned round_in(CUcontext context, unsigned value)
{
	static __thread unsigned host[COUNT];
	CUdeviceptr first, second;
	CUstream stream;
	size_t bytes = sizeof(host);

	CHECK(cuCtxPushCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&first, bytes));
	CHECK(cuMemAllocAsync(&second, bytes, stream));
	CHECK(cuMemsetD32Async(first, value, COUNT, stream));
	CHECK(cuMemcpyDtoDAsync(second, first, bytes, stream));
	CHECK(cuMemcpyDtoHAsync(host, second, bytes, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemFreeAsync(second, stream));
	CHECK(cuMemFree(first));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuCtxPopCurrent(NULL));
	for (int i = 0; i < COUNT; i += 97)
		EXPECT(host[i] == value);
	return host[COUNT - 1];
}

static void *run(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	CUcontext own;
	CUdeviceptr left;

	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round % 5 == 0) {
			CHECK(cuCtxCreate(&own, NULL, 0, device));
			CHECK(cuCtxPopCurrent(NULL));
		}
		sums[number] += round_in(round % 2 ? own : primary, number * 1000 + round);
		if (round % 5 == 4) {
			CHECK(cuCtxPushCurrent(own));
			CHECK(cuMemAlloc(&left, COUNT));
			CHECK(cuCtxPopCurrent(NULL));
			CHECK(cuCtxDestroy(own));
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, device));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run, (void *)i));
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(threads[i], NULL));
		sum += sums[i];
	}
	CHECK(cuDevicePrimaryCtxRelease(device));
	printf("ok %d threads, %llu\n", THREADS, (unsigned long long)sum);
	return 0;
}
