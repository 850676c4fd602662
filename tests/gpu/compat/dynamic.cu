/* Dynamic parallelism: kernels launched by a kernel, into the fire-and-forget and the tail stream. */
#include <cuda_runtime.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { COUNT = 1 << 16, PARTS = 16, ROUNDS = 8 };

__global__ void add(unsigned *numbers, int count, unsigned more)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		numbers[i] += more;
}

__global__ void finish(unsigned *numbers, int count)
{
	for (int i = threadIdx.x; i < count; i += blockDim.x)
		numbers[i] *= 2;
}

__global__ void parent(unsigned *numbers)
{
	const int part = COUNT / PARTS;

	add<<<part / 128, 128, 0, cudaStreamFireAndForget>>>(numbers + threadIdx.x * part, part, threadIdx.x + 1);
	if (threadIdx.x == 0)
		finish<<<1, 256, 0, cudaStreamTailLaunch>>>(numbers, COUNT);
}

int main(void)
{
	static unsigned host[COUNT], right[COUNT];
	unsigned *numbers;

	CHECK(cudaMalloc(&numbers, sizeof(host)));
	CHECK(cudaMemset(numbers, 0, sizeof(host)));
	for (int round = 0; round < ROUNDS; round++) {
		parent<<<1, PARTS>>>(numbers);
		CHECK(cudaGetLastError());
		for (int i = 0; i < COUNT; i++)
			right[i] = (right[i] + i / (COUNT / PARTS) + 1) * 2;
	}
	CHECK(cudaMemcpy(host, numbers, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		EXPECT(host[i] == right[i]);
	CHECK(cudaFree(numbers));
	printf("ok dynamic %016llx\n", (unsigned long long)digest(host, sizeof(host)));
	return 0;
}
