/* Matrix products through cuBLAS, which carries its own static cudart: fp32, fp64, bf16 and a strided batch, each
 * checked against the host. libcublas.so.13 is loaded at run time: the program stays small and builds without it. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <math.h>

#include "tests/gpu/check.h"

enum { N = 256, BATCH = 4, REPEATS = 10 };

template <typename F> static F load(void *library, const char *symbol)
{
	F function = (F)dlsym(library, symbol);

	if (!function) {
		fprintf(stderr, "%s is not in libcublas\n", symbol);
		exit(1);
	}
	return function;
}

/* Small integers: every product is exact in all three formats' accumulators. */
static float element(int i)
{
	return (float)(i % 7 - 3);
}

template <typename T> static void fill(T *host)
{
	for (int i = 0; i < N * N; i++)
		host[i] = (T)element(i);
}

/* Column-major C = A * B at (row, column), with A = B = the filled matrix. */
static double expected(int row, int column)
{
	double sum = 0;

	for (int k = 0; k < N; k++)
		sum += (double)element(row + k * N) * element(k + column * N);
	return sum;
}

template <typename T> static void check(const T *c)
{
	for (int i = 0; i < N; i += 17)
		EXPECT(fabs((double)c[i + (N - 1 - i) * N] - expected(i, N - 1 - i)) < 1e-3);
}

template <typename T, typename Out, typename Gemm> static void run(Gemm gemm)
{
	static T host[N * N];
	static Out result[N * N];
	T *a;
	Out *c;

	fill(host);
	CHECK(cudaMalloc(&a, sizeof(host)));
	CHECK(cudaMalloc(&c, BATCH * sizeof(result)));
	CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	for (int i = 0; i < REPEATS; i++)
		CHECK(gemm(a, c));
	CHECK(cudaMemcpy(result, c, sizeof(result), cudaMemcpyDeviceToHost));
	check(result);
	CHECK(cudaFree(a));
	CHECK(cudaFree(c));
}

int main(void)
{
	void *library = dlopen("libcublas.so.13", RTLD_NOW);
	cublasHandle_t handle;
	cudaStream_t stream;
	const float one = 1, zero = 0;
	const double one64 = 1, zero64 = 0;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	auto create = load<decltype(&cublasCreate_v2)>(library, "cublasCreate_v2");
	auto destroy = load<decltype(&cublasDestroy_v2)>(library, "cublasDestroy_v2");
	auto set_stream = load<decltype(&cublasSetStream_v2)>(library, "cublasSetStream_v2");
	auto sgemm = load<decltype(&cublasSgemm_v2)>(library, "cublasSgemm_v2");
	auto dgemm = load<decltype(&cublasDgemm_v2)>(library, "cublasDgemm_v2");
	auto batched = load<decltype(&cublasSgemmStridedBatched)>(library, "cublasSgemmStridedBatched");
	typedef cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
					  const void *, const void *, cudaDataType, int, const void *, cudaDataType, int,
					  const void *, void *, cudaDataType, int, cublasComputeType_t,
					  cublasGemmAlgo_t);
	auto mixed = load<gemm_ex>(library, "cublasGemmEx");

	CHECK(cudaStreamCreate(&stream));
	CHECK(create(&handle));
	CHECK(set_stream(handle, stream));
	run<float, float>([&](float *a, float *c) {
		return sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, a, N, &zero, c, N);
	});
	run<double, double>([&](double *a, double *c) {
		return dgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one64, a, N, a, N, &zero64, c, N);
	});
	run<__nv_bfloat16, float>([&](__nv_bfloat16 *a, float *c) {
		return mixed(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, CUDA_R_16BF, N, a, CUDA_R_16BF, N, &zero, c,
			     CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
	});
	run<float, float>([&](float *a, float *c) {
		return batched(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, 0, a, N, 0, &zero, c, N,
			       (long long)N * N, BATCH);
	});
	CHECK(destroy(handle));
	CHECK(cudaStreamDestroy(stream));
	printf("ok %d matrix products in 4 formats\n", 4 * REPEATS);
	return 0;
}
