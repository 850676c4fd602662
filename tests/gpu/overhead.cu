/* The cost of what the shim sits in front of: host time of an empty launch and of allocate + free pairs, through the
 * driver API (one hook) and through the shared runtime (a hook in each layer).
 *
 * The hooks cannot be switched inside one process, so scripts/gpu-check runs this program by turns with and without
 * the shim. Work is timed in short batches with the stream drained in between, so that a full queue is never part of
 * the figure. One line a measurement: name, minimum and median in ns per operation. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdlib.h>
#include <time.h>

#include "tests/gpu/check.h"

enum { BATCHES = 400, BATCH = 64, SLOW_BATCHES = 60, SLOW_BATCH = 4, FEW = 3 };

__global__ void empty(void)
{
}

static CUfunction function;
static cudaStream_t stream;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void driver_launch(size_t bytes)
{
	(void)bytes;
	CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void driver_malloc(size_t bytes)
{
	CUdeviceptr address;

	CHECK(cuMemAlloc(&address, bytes));
	CHECK(cuMemFree(address));
}

static void driver_async(size_t bytes)
{
	CUdeviceptr address;

	CHECK(cuMemAllocAsync(&address, bytes, stream));
	CHECK(cuMemFreeAsync(address, stream));
}

static void runtime_launch(size_t bytes)
{
	(void)bytes;
	empty<<<1, 32, 0, stream>>>();
}

static void runtime_malloc(size_t bytes)
{
	void *address;

	CHECK(cudaMalloc(&address, bytes));
	CHECK(cudaFree(address));
}

static void runtime_async(size_t bytes)
{
	void *address;

	CHECK(cudaMallocAsync(&address, bytes, stream));
	CHECK(cudaFreeAsync(address, stream));
}

static void runtime_host(size_t bytes)
{
	void *address;

	CHECK(cudaHostAlloc(&address, bytes, cudaHostAllocDefault));
	CHECK(cudaFreeHost(address));
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

		CHECK(cudaStreamSynchronize(stream));
		start = now_ns();
		for (int k = 0; k < batch; k++)
			operation(bytes);
		ns[i] = (now_ns() - start) / batch;
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGetLastError());
	qsort(ns, (size_t)batches, sizeof(*ns), compare);
	printf("%s %.1f %.1f\n", name, ns[0], ns[batches / 2]);
}

int main(void)
{
	cudaMemPool_t pool;
	unsigned long long threshold = ~0ull;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaGetFuncBySymbol(&function, (const void *)empty));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));

	measure("cuLaunchKernel", driver_launch, 0, BATCHES, BATCH);
	measure("<<<>>>", runtime_launch, 0, BATCHES, BATCH);
	measure("cuMemAllocAsync+Free_4K", driver_async, 4096, BATCHES, BATCH);
	measure("cudaMallocAsync+Free_4K", runtime_async, 4096, BATCHES, BATCH);
	measure("cudaMallocAsync+Free_1M", runtime_async, 1 << 20, BATCHES, BATCH);
	measure("cuMemAlloc+Free_4K", driver_malloc, 4096, SLOW_BATCHES, SLOW_BATCH);
	measure("cudaMalloc+Free_4K", runtime_malloc, 4096, SLOW_BATCHES, SLOW_BATCH);
	measure("cudaMalloc+Free_1M", runtime_malloc, 1 << 20, SLOW_BATCHES, SLOW_BATCH);
	measure("cudaHostAlloc+Free_1M", runtime_host, 1 << 20, SLOW_BATCHES, SLOW_BATCH);
	measure("cudaHostAlloc+Free_256M", runtime_host, 256 << 20, FEW, 1);
	return 0;
}
