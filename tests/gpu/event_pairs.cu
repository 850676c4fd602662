/* What lies between two events besides the kernel that they enclose: the figures behind shim/watch/sample.c.
 *
 *	event_pairs MICROSECONDS
 *
 * Launches kernels of about this length, all alike, of which CUPTI can tell the mean, and prints medians in nanoseconds: between two
 * events with nothing in between; around a kernel that finds the device idle, without the host time of its launch; around
 * one in a full queue. MICROSECONDS must be more than a launch and two records take, or there is no queue. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/gpu/check.h"

enum { PAIRS = 400, WARM = 100 };

static CUevent starts[PAIRS], ends[PAIRS];

static __global__ void spin(long long ns, float *x)
{
	long long start, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - start < ns);
	x[threadIdx.x] += 1;
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void stay_away(double ns)
{
	for (double start = now_ns(); now_ns() - start < ns;)
		;
}

static double between_ns(int pair)
{
	float ms;

	CHECK(cuEventElapsedTime(&ms, starts[pair], ends[pair]));
	return ms * 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of those after the warm ones. */
static double median(double *ns)
{
	qsort(ns + WARM, PAIRS - WARM, sizeof(*ns), compare);
	return ns[(WARM + PAIRS) / 2];
}

int main(int count, char **words)
{
	long long kernel_ns = (count > 1 ? atoll(words[1]) : 16) * 1000;
	double empty[PAIRS], idle[PAIRS], queued[PAIRS], launch[PAIRS];
	cudaStream_t stream;
	float *x;

	CHECK(cudaMalloc(&x, 256 * sizeof(*x)));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < PAIRS; i++) {
		CHECK(cuEventCreate(&starts[i], CU_EVENT_DEFAULT));
		CHECK(cuEventCreate(&ends[i], CU_EVENT_DEFAULT));
	}
	for (int i = 0; i < PAIRS; i++) {
		CHECK(cuEventRecord(starts[i], stream));
		CHECK(cuEventRecord(ends[i], stream));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < PAIRS; i++)
		empty[i] = between_ns(i);
	for (int i = 0; i < PAIRS; i++) {
		double begin;

		stay_away(30000);
		CHECK(cuEventRecord(starts[i], stream));
		begin = now_ns();
		spin<<<1, 256, 0, stream>>>(kernel_ns, x);
		launch[i] = now_ns() - begin;
		CHECK(cuEventRecord(ends[i], stream));
		CHECK(cudaDeviceSynchronize());
		idle[i] = between_ns(i) - launch[i];
	}
	for (int i = 0; i < PAIRS; i++) {
		CHECK(cuEventRecord(starts[i], stream));
		spin<<<1, 256, 0, stream>>>(kernel_ns, x);
		CHECK(cuEventRecord(ends[i], stream));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < PAIRS; i++)
		queued[i] = between_ns(i);
	printf("ns %.0f %.0f %.0f\n", median(empty), median(idle), median(queued));
	return 0;
}
