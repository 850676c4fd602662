/* Pinned host memory that kernels read and write in place: allocated mapped, and registered afterwards. */
#include <cuda_runtime.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { COUNT = 1 << 18, ROUNDS = 8 };

__global__ void twice(unsigned *out, const unsigned *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i] * 2 + 1;
}

int main(void)
{
	static unsigned registered[COUNT];
	unsigned *mapped, *in, *out;
	unsigned long long sum = 0;

	CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
	CHECK(cudaHostRegister(registered, sizeof(registered), cudaHostRegisterMapped));
	CHECK(cudaHostGetDevicePointer(&out, registered, 0));
	for (int round = 0; round < ROUNDS; round++) {
		unsigned flags = cudaHostAllocMapped | (round % 2 ? cudaHostAllocWriteCombined : 0);

		CHECK(cudaHostAlloc(&mapped, sizeof(registered), flags));
		CHECK(cudaHostGetDevicePointer(&in, mapped, 0));
		for (int i = 0; i < COUNT; i++)
			mapped[i] = (unsigned)(i + round);
		twice<<<COUNT / 256, 256>>>(out, in);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		for (int i = 0; i < COUNT; i++)
			EXPECT(registered[i] == (unsigned)(i + round) * 2 + 1);
		sum ^= digest(registered, sizeof(registered));
		CHECK(cudaFreeHost(mapped));
	}
	CHECK(cudaHostUnregister(registered));
	printf("ok mapped %016llx\n", sum);
	return 0;
}
