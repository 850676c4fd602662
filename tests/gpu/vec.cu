/* A runtime-API program with known counts: each round allocates in every usual way, copies, sets, launches in every
 * usual way and checks the numbers. Built with static cudart, shared cudart and per-thread default streams. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <string.h>

#include "tests/gpu/check.h"

enum { ROUNDS = 8, COUNT = 1 << 16, BLOCK = 256, GRID = COUNT / BLOCK };

__global__ void axpy(float *y, const float *x, float a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] += a * x[i];
}

/* Each thread adds what its mirror thread wrote before the barrier over the whole grid: needs a cooperative launch. */
__global__ void mirror_sum(float *out, float *scratch, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int n = gridDim.x * blockDim.x;

	scratch[i] = in[i];
	cooperative_groups::this_grid().sync();
	out[i] = scratch[i] + scratch[n - 1 - i];
}

static int launches;

/* y starts at zero; after this every element is x * 4. */
static void launch_plain(float *y, const float *x, cudaStream_t stream)
{
	float a = 1;
	void *arguments[] = {&y, &x, &a};
	cudaLaunchConfig_t config = {};

	axpy<<<GRID, BLOCK>>>(y, x, a);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	axpy<<<GRID, BLOCK, 0, stream>>>(y, x, a);
	CHECK(cudaGetLastError());
	CHECK(cudaLaunchKernel((const void *)axpy, dim3(GRID), dim3(BLOCK), arguments, 0, stream));
	config.gridDim = dim3(GRID);
	config.blockDim = dim3(BLOCK);
	config.stream = stream;
	CHECK(cudaLaunchKernelExC(&config, (const void *)axpy, arguments));
	launches += 4;
}

static void launch_cooperative(float *out, float *scratch, const float *in, cudaStream_t stream)
{
	void *arguments[] = {&out, &scratch, &in};

	CHECK(cudaLaunchCooperativeKernel((const void *)mirror_sum, dim3(16), dim3(BLOCK), arguments, 0, stream));
	launches++;
}

/* Two kernels in a graph, launched twice: adds x * 4 to y. */
static void launch_graph(float *y, const float *x, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	axpy<<<GRID, BLOCK, 0, stream>>>(y, x, 1);
	axpy<<<GRID, BLOCK, 0, stream>>>(y, x, 1);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	launches += 4;
}

static void run_round(cudaStream_t stream, cudaEvent_t event, int round)
{
	size_t bytes = COUNT * sizeof(float), pitch;
	float *x, *y, *z, *scratch, *pitched, *host, *back;

	CHECK(cudaMalloc(&x, bytes));
	CHECK(cudaMalloc(&y, bytes));
	CHECK(cudaMallocAsync(&z, bytes, stream));
	CHECK(cudaMallocAsync(&scratch, bytes + (size_t)round * 4096, stream));
	CHECK(cudaMallocPitch(&pitched, &pitch, 1000, 16));
	EXPECT(pitch >= 1000);
	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaHostAlloc(&back, bytes, cudaHostAllocDefault));

	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(i % 1000 + round);
	CHECK(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemset(y, 0, bytes));
	CHECK(cudaMemsetAsync(z, 0, bytes, stream));
	CHECK(cudaMemset2D(pitched, pitch, 0, 1000, 16));
	CHECK(cudaDeviceSynchronize());

	launch_plain(y, x, stream);
	launch_graph(y, x, stream);
	launch_cooperative(z, scratch, y, stream);
	CHECK(cudaEventRecord(event, stream));
	CHECK(cudaEventSynchronize(event));

	CHECK(cudaMemcpyAsync(back, y, bytes, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < COUNT; i++)
		EXPECT(back[i] == 8 * host[i]);
	CHECK(cudaMemcpyAsync(back, z, bytes, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < 16 * BLOCK; i++)
		EXPECT(back[i] == 8 * (host[i] + host[16 * BLOCK - 1 - i]));

	CHECK(cudaFreeAsync(z, stream));
	CHECK(cudaFreeAsync(scratch, stream));
	CHECK(cudaFree(x));
	CHECK(cudaFree(y));
	CHECK(cudaFree(pitched));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFreeHost(back));
}

int main(void)
{
	cudaStream_t stream;
	cudaEvent_t event;

	CHECK(cudaFree(0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (int round = 0; round < ROUNDS; round++)
		run_round(stream, event, round);
	CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	printf("ok %d kernels in %d rounds\n", launches, ROUNDS);
	return 0;
}
