/* Linear equations by cuSOLVER: a symmetric matrix is factored (Cholesky) and solved for many right sides. */
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <math.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { N = 300, SIDES = 20, ROUNDS = 5 };

static double a[N * N], b[N * SIDES], x[N * SIDES];

int main(void)
{
	void *library = load_library("libcusolver.so.12", "libcusolver");
	__auto_type create = LOAD(library, cusolverDnCreate);
	__auto_type destroy = LOAD(library, cusolverDnDestroy);
	__auto_type set_stream = LOAD(library, cusolverDnSetStream);
	__auto_type size = LOAD(library, cusolverDnDpotrf_bufferSize);
	__auto_type factor = LOAD(library, cusolverDnDpotrf);
	__auto_type solve = LOAD(library, cusolverDnDpotrs);
	double *matrix, *sides, *work;
	int *info, failed = 1, count;
	cusolverDnHandle_t handle;
	cudaStream_t stream;

	for (int i = 0; i < N * N; i++)
		a[i] = i % (N + 1) == 0 ? 2.0 * N : 1.0 / (1 + abs(i % N - i / N));
	for (int i = 0; i < N * SIDES; i++)
		b[i] = i % 13 - 6;
	CHECK(cudaStreamCreate(&stream));
	CHECK(create(&handle));
	CHECK(set_stream(handle, stream));
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(cudaMalloc((void **)&matrix, sizeof(a)));
		CHECK(cudaMalloc((void **)&sides, sizeof(b)));
		CHECK(cudaMalloc((void **)&info, sizeof(*info)));
		CHECK(cudaMemcpyAsync(matrix, a, sizeof(a), cudaMemcpyHostToDevice, stream));
		CHECK(cudaMemcpyAsync(sides, b, sizeof(b), cudaMemcpyHostToDevice, stream));
		CHECK(size(handle, CUBLAS_FILL_MODE_LOWER, N, matrix, N, &count));
		CHECK(cudaMallocAsync((void **)&work, count * sizeof(*work) + 1, stream));
		CHECK(factor(handle, CUBLAS_FILL_MODE_LOWER, N, matrix, N, work, count, info));
		CHECK(solve(handle, CUBLAS_FILL_MODE_LOWER, N, SIDES, matrix, N, sides, N, info));
		CHECK(cudaFreeAsync(work, stream));
		CHECK(cudaMemcpyAsync(x, sides, sizeof(x), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaMemcpyAsync(&failed, info, sizeof(failed), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
		EXPECT(failed == 0);
		CHECK(cudaFree(matrix));
		CHECK(cudaFree(sides));
		CHECK(cudaFree(info));
	}
	for (int side = 0; side < SIDES; side += 3) {
		for (int row = 0; row < N; row += 7) {
			double sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[row + k * N] * x[k + side * N];
			EXPECT(fabs(sum - b[row + side * N]) < 1e-9);
		}
	}
	CHECK(destroy(handle));
	CHECK(cudaStreamDestroy(stream));
	printf("ok cusolver %016llx\n", (unsigned long long)digest(x, sizeof(x)));
	return 0;
}
