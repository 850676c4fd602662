/* Managed memory: host and device write by turns, with hints and without, beside memory that is not managed. */
#include <cuda_runtime.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { COUNT = 1 << 20, ROUNDS = 6 };

__global__ void add(unsigned *numbers, const unsigned *more)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	numbers[i] += more[i] + 1;
}

int main(void)
{
	static unsigned host[COUNT];
	unsigned *numbers, *more, wrong = 0;
	cudaStream_t stream;
	int managed;

	CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
	if (!managed) {
		puts("absent managed-memory");
		return 77;
	}
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&more, sizeof(host)));
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(cudaMallocManaged(&numbers, sizeof(host), cudaMemAttachGlobal));
		for (int i = 0; i < COUNT; i++)
			numbers[i] = host[i] = (unsigned)(i * (round + 1));
		CHECK(cudaMemcpyAsync(more, host, sizeof(host), cudaMemcpyHostToDevice, stream));
		for (int turn = 0; turn < 3; turn++) {
			add<<<COUNT / 256, 256, 0, stream>>>(numbers, more);
			CHECK(cudaGetLastError());
			CHECK(cudaStreamSynchronize(stream));
			numbers[turn] += 5;
		}
		for (int i = 0; i < COUNT; i++)
			wrong += numbers[i] != host[i] * 4 + 3 + (i < 3 ? 5 : 0);
		CHECK(cudaMemcpy(host, numbers, sizeof(host), cudaMemcpyDefault));
		CHECK(cudaFree(numbers));
	}
	EXPECT(wrong == 0);
	CHECK(cudaFree(more));
	printf("ok managed %016llx\n", (unsigned long long)digest(host, sizeof(host)));
	return 0;
}
