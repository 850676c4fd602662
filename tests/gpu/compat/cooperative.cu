/* Cooperative groups: a grid as large as the device takes at once adds up an array in rounds, with a barrier over the whole
 * grid after each, and tiles of a warp that reduce. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include "tests/gpu/check.h"

namespace groups = cooperative_groups;

enum { COUNT = 1 << 20, BLOCK = 256, ROUNDS = 10 };

__global__ void fold(unsigned *numbers, int count)
{
	groups::grid_group grid = groups::this_grid();

	for (int half = count / 2; half > 0; half /= 2) {
		for (int i = grid.thread_rank(); i < half; i += grid.size())
			numbers[i] += numbers[i + half];
		grid.sync();
	}
}

__global__ void count_odd(const unsigned *numbers, unsigned *total, int count)
{
	auto tile = groups::tiled_partition<32>(groups::this_thread_block());
	unsigned mine = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		mine += numbers[i] & 1;
	mine = groups::reduce(tile, mine, groups::plus<unsigned>());
	if (tile.thread_rank() == 0)
		atomicAdd(total, mine);
}

int main(void)
{
	static unsigned host[COUNT];
	unsigned *numbers, *total, sum, odd, right = 0, right_odd = 0;
	int per_processor, processors, count = COUNT, cooperative;
	cudaStream_t stream;

	CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
	if (!cooperative) {
		puts("absent cooperative-launch");
		return 77;
	}
	CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, fold, BLOCK, 0));
	for (int i = 0; i < COUNT; i++) {
		host[i] = (unsigned)i * 2654435761u >> 8;
		right += host[i];
		right_odd += host[i] & 1;
	}
	CHECK(cudaStreamCreate(&stream));
	for (int round = 0; round < ROUNDS; round++) {
		void *arguments[] = {&numbers, &count};

		CHECK(cudaMallocAsync(&numbers, sizeof(host), stream));
		CHECK(cudaMallocAsync(&total, sizeof(*total), stream));
		CHECK(cudaMemsetAsync(total, 0, sizeof(*total), stream));
		CHECK(cudaMemcpyAsync(numbers, host, sizeof(host), cudaMemcpyHostToDevice, stream));
		count_odd<<<64, BLOCK, 0, stream>>>(numbers, total, COUNT);
		CHECK(cudaGetLastError());
		CHECK(cudaLaunchCooperativeKernel((const void *)fold, dim3(per_processor * processors / 4), dim3(BLOCK), arguments,
						  0, stream));
		CHECK(cudaMemcpyAsync(&sum, numbers, sizeof(sum), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaMemcpyAsync(&odd, total, sizeof(odd), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaFreeAsync(numbers, stream));
		CHECK(cudaFreeAsync(total, stream));
		EXPECT(sum == right && odd == right_odd);
	}
	printf("ok cooperative %u %u\n", sum, odd);
	return 0;
}
