/* Transforms of several sizes by cuFFT, there and back; the library allocates its work areas itself, and in one plan the
 * program does. */
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <math.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { MOST = 100000 };

static cufftComplex host[MOST], back[MOST];

int main(void)
{
	void *library = load_library("libcufft.so.12", "libcufft");
	__auto_type plan_1d = LOAD(library, cufftPlan1d);
	__auto_type create = LOAD(library, cufftCreate);
	__auto_type automatic = LOAD(library, cufftSetAutoAllocation);
	__auto_type make = LOAD(library, cufftMakePlan1d);
	__auto_type set_area = LOAD(library, cufftSetWorkArea);
	__auto_type set_stream = LOAD(library, cufftSetStream);
	__auto_type transform = LOAD(library, cufftExecC2C);
	__auto_type destroy = LOAD(library, cufftDestroy);
	const int sizes[] = {64, 1000, 4096, 30030, 65536, 99991};
	unsigned long long sum = 0;
	cudaStream_t stream;
	cufftComplex *data;

	for (int i = 0; i < MOST; i++)
		host[i] = (cufftComplex){(float)(i % 17 - 8), (float)(i % 5 - 2)};
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&data, sizeof(host)));
	for (unsigned round = 0; round < sizeof(sizes) / sizeof(*sizes); round++) {
		size_t bytes = sizes[round] * sizeof(*host), area_bytes;
		void *area = NULL;
		cufftHandle plan;

		if (round % 2 == 0) {
			CHECK(plan_1d(&plan, sizes[round], CUFFT_C2C, 1));
		} else {
			CHECK(create(&plan));
			CHECK(automatic(plan, 0));
			CHECK(make(plan, sizes[round], CUFFT_C2C, 1, &area_bytes));
			CHECK(cudaMalloc((void **)&area, area_bytes + 1));
			CHECK(set_area(plan, area));
		}
		CHECK(set_stream(plan, stream));
		CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream));
		CHECK(transform(plan, data, data, CUFFT_FORWARD));
		CHECK(transform(plan, data, data, CUFFT_INVERSE));
		CHECK(cudaMemcpyAsync(back, data, bytes, cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
		for (int i = 0; i < sizes[round]; i++)
			EXPECT(fabsf(back[i].x / sizes[round] - host[i].x) < 1e-3f);
		sum ^= digest(back, bytes);
		CHECK(destroy(plan));
		CHECK(cudaFree(area));
	}
	CHECK(cudaFree(data));
	CHECK(cudaStreamDestroy(stream));
	printf("ok cufft %016llx\n", sum);
	return 0;
}
