/* A sparse matrix times a vector by cuSPARSE, with a buffer from the stream's pool; whole numbers, so that it is exact. */
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { N = 20000, PER_ROW = 5, ROUNDS = 20 };

static int offsets[N + 1], columns[N * PER_ROW];
static float values[N * PER_ROW], x[N], y[N];

static void *upload(const void *host, size_t size_bytes)
{
	void *device;

	CHECK(cudaMalloc(&device, size_bytes));
	CHECK(cudaMemcpy(device, host, size_bytes, cudaMemcpyHostToDevice));
	return device;
}

int main(void)
{
	void *library = load_library("libcusparse.so.12", "libcusparse");
	__auto_type create = LOAD(library, cusparseCreate);
	__auto_type destroy = LOAD(library, cusparseDestroy);
	__auto_type set_stream = LOAD(library, cusparseSetStream);
	__auto_type matrix_new = LOAD(library, cusparseCreateCsr);
	__auto_type vector_new = LOAD(library, cusparseCreateDnVec);
	__auto_type size = LOAD(library, cusparseSpMV_bufferSize);
	__auto_type multiply = LOAD(library, cusparseSpMV);
	float one = 1, zero = 0;
	cusparseHandle_t handle;
	cusparseSpMatDescr_t matrix;
	cusparseDnVecDescr_t in, out;
	cudaStream_t stream;
	size_t bytes;
	void *device_y, *buffer;

	for (int row = 0; row <= N; row++)
		offsets[row] = row * PER_ROW;
	for (int i = 0; i < N * PER_ROW; i++) {
		columns[i] = (i / PER_ROW + i % PER_ROW * 3001) % N;
		values[i] = (float)(i % 9 - 4);
	}
	for (int i = 0; i < N; i++)
		x[i] = (float)(i % 11);
	device_y = upload(y, sizeof(y));
	CHECK(cudaStreamCreate(&stream));
	CHECK(create(&handle));
	CHECK(set_stream(handle, stream));
	CHECK(matrix_new(&matrix, N, N, N * PER_ROW, upload(offsets, sizeof(offsets)), upload(columns, sizeof(columns)),
			 upload(values, sizeof(values)), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
			 CUDA_R_32F));
	CHECK(vector_new(&in, N, upload(x, sizeof(x)), CUDA_R_32F));
	CHECK(vector_new(&out, N, device_y, CUDA_R_32F));
	CHECK(size(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT,
		   &bytes));
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(cudaMallocAsync((void **)&buffer, bytes + 1, stream));
		CHECK(multiply(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
			       CUSPARSE_SPMV_ALG_DEFAULT, buffer));
		CHECK(cudaFreeAsync(buffer, stream));
	}
	CHECK(cudaMemcpyAsync(y, device_y, sizeof(y), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int row = 0; row < N; row++) {
		float sum = 0;

		for (int i = offsets[row]; i < offsets[row + 1]; i++)
			sum += values[i] * x[columns[i]];
		EXPECT(y[row] == sum);
	}
	CHECK(destroy(handle));
	printf("ok cusparse %016llx\n", (unsigned long long)digest(y, sizeof(y)));
	return 0;
}
