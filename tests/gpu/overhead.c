/* The cost of what the shim sits in front of: host time of an empty launch and of allocate + free pairs.
 *
 * The hooks cannot be switched inside one process, so scripts/gpu-check runs this program by turns with and without
 * the shim. Work is timed in short batches with the stream drained in between, so that a full queue is never part of
 * the figure. One line a measurement: name, minimum and median in ns per operation. */
#include <cuda.h>
#include <time.h>

#include "tests/gpu/check.h"
#include "tests/gpu/kernels.h"

enum { BATCHES = 400, BATCH = 64, SLOW_BATCHES = 60, SLOW_BATCH = 4 };

static CUfunction empty;
static CUstream stream;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch(size_t bytes)
{
	(void)bytes;
	CHECK(cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void malloc_pair(size_t bytes)
{
	CUdeviceptr address;

	CHECK(cuMemAlloc(&address, bytes));
	CHECK(cuMemFree(address));
}

static void async_pair(size_t bytes)
{
	CUdeviceptr address;

	CHECK(cuMemAllocAsync(&address, bytes, stream));
	CHECK(cuMemFreeAsync(address, stream));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, void (*operation)(size_t), size_t bytes, int batches, int batch)
{
	double ns[BATCHES];

	for (int i = 0; i < 2 * batch; i++)
		operation(bytes);
	for (int i = 0; i < batches; i++) {
		double start;

		CHECK(cuStreamSynchronize(stream));
		start = now_ns();
		for (int k = 0; k < batch; k++)
			operation(bytes);
		ns[i] = (now_ns() - start) / batch;
	}
	CHECK(cuStreamSynchronize(stream));
	qsort(ns, (size_t)batches, sizeof(*ns), compare);
	printf("%s %.1f %.1f\n", name, ns[0], ns[batches / 2]);
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUmemoryPool pool;
	cuuint64_t threshold = ~0ull;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, kernels_image));
	CHECK(cuModuleGetFunction(&empty, module, "empty"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuDeviceGetDefaultMemPool(&pool, device));
	CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));

	measure("launch", launch, 0, BATCHES, BATCH);
	measure("async_4k", async_pair, 4096, BATCHES, BATCH);
	measure("async_1m", async_pair, 1 << 20, BATCHES, BATCH);
	measure("malloc_4k", malloc_pair, 4096, SLOW_BATCHES, SLOW_BATCH);
	measure("malloc_1m", malloc_pair, 1 << 20, SLOW_BATCHES, SLOW_BATCH);
	return 0;
}
