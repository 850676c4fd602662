/* A matrix product by cuBLASLt with a bias and a workspace from the stream's pool; small whole numbers, so that it is exact. */
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { N = 256, WORKSPACE_BYTES = 4 << 20 };

int main(void)
{
	void *library = load_library("libcublasLt.so.13", "libcublasLt");
	__auto_type create = LOAD(library, cublasLtCreate);
	__auto_type destroy = LOAD(library, cublasLtDestroy);
	__auto_type describe = LOAD(library, cublasLtMatmulDescCreate);
	__auto_type set = LOAD(library, cublasLtMatmulDescSetAttribute);
	__auto_type lay_out = LOAD(library, cublasLtMatrixLayoutCreate);
	__auto_type prefer = LOAD(library, cublasLtMatmulPreferenceCreate);
	__auto_type prefer_set = LOAD(library, cublasLtMatmulPreferenceSetAttribute);
	__auto_type choose = LOAD(library, cublasLtMatmulAlgoGetHeuristic);
	__auto_type multiply = LOAD(library, cublasLtMatmul);
	static float a[N * N], c[N * N];
	size_t workspace_bytes = WORKSPACE_BYTES;
	float *device_a, *device_c, *bias, one = 1, zero = 0;
	void *workspace;
	cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t product;
	cublasLtMatrixLayout_t layout;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t found;
	cudaStream_t stream;
	int count = 0;

	for (int i = 0; i < N * N; i++)
		a[i] = (float)(i % 7 - 3);
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc((void **)&device_a, sizeof(a)));
	CHECK(cudaMalloc((void **)&device_c, sizeof(c)));
	CHECK(cudaMalloc((void **)&bias, N * sizeof(float)));
	CHECK(cudaMemcpy(device_a, a, sizeof(a), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(bias, a, N * sizeof(float), cudaMemcpyHostToDevice));
	CHECK(create(&handle));
	CHECK(describe(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	CHECK(set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	CHECK(set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
	CHECK(lay_out(&layout, CUDA_R_32F, N, N, N));
	CHECK(prefer(&preference));
	CHECK(prefer_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof(workspace_bytes)));
	CHECK(choose(handle, product, layout, layout, layout, layout, preference, 1, &found, &count));
	EXPECT(count == 1);
	for (int i = 0; i < 20; i++) {
		CHECK(cudaMallocAsync((void **)&workspace, workspace_bytes, stream));
		CHECK(multiply(handle, product, &one, device_a, layout, device_a, layout, &zero, device_c, layout, device_c,
			       layout, &found.algo, workspace, workspace_bytes, stream));
		CHECK(cudaFreeAsync(workspace, stream));
	}
	CHECK(cudaMemcpyAsync(c, device_c, sizeof(c), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int row = 0; row < N; row += 5) {
		float sum = a[row];

		for (int k = 0; k < N; k++)
			sum += a[row + k * N] * a[k + 3 * N];
		EXPECT(c[row + 3 * N] == (sum > 0 ? sum : 0));
	}
	CHECK(destroy(handle));
	CHECK(cudaFree(device_a));
	CHECK(cudaFree(device_c));
	CHECK(cudaFree(bias));
	printf("ok cublaslt %016llx\n", (unsigned long long)digest(c, sizeof(c)));
	return 0;
}
