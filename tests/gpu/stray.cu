/* Many launches on several streams, among them one that writes to an address where nothing is; the error comes back in a
 * call that has nothing to do with it.
 *
 *     stray waited|unwaited
 *
 * waited: the other streams are waited for before the program goes on, so that one launch remains to blame. Prints the
 * code that the innocent call got. */
#include <cuda_runtime.h>
#include <string.h>

#include "tests/gpu/check.h"

enum { STREAMS = 4, ROUNDS = 40, COUNT = 1 << 20 };

__global__ void innocent(float *data, float factor, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] = data[i] * factor + 1.0f;
}

/* far: in units of 16 GiB. */
__global__ void stray_write(float *data, int far)
{
	data[((long long)far << 32) + threadIdx.x] = 1.0f;
}

static cudaStream_t streams[STREAMS];
static float *data[STREAMS];

static void work(int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < STREAMS; i++)
			innocent<<<COUNT / 256, 256, 0, streams[i]>>>(data[i], 0.5f, COUNT);
}

int main(int argc, char **argv)
{
	cudaError_t result;
	void *memory;

	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		CHECK(cudaMalloc((void **)&data[i], COUNT * sizeof(float)));
	}
	work(ROUNDS);
	CHECK(cudaDeviceSynchronize());
	work(ROUNDS);
	if (argc > 1 && strcmp(argv[1], "waited") == 0)
		for (int i = 0; i < STREAMS; i++)
			CHECK(cudaStreamSynchronize(streams[i]));
	stray_write<<<1, 32, 0, streams[1]>>>(data[1], 256);
	CHECK(cudaGetLastError());
	if (argc > 1 && strcmp(argv[1], "waited") != 0)
		work(2);
	result = cudaStreamSynchronize(streams[1]);
	if (result == cudaSuccess)
		result = cudaMalloc(&memory, 1 << 20);
	printf("got %d\n", (int)result);
	return 0;
}
