/* A language model written in CUDA as such programs are: one token at a time, products by cuBLAS, the rest by small kernels, keys and
 * values kept, the likeliest token chosen on the device and read by the host after TOKENS of them. Weights are random and all is
 * repeatable. libcublas.so.13 is loaded at run time; without it the program ends with 77. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"
#include "tests/gpu/turns.h"

enum { WIDTH = 512, HEADS = 8, HEAD = WIDTH / HEADS, INNER = 4 * WIDTH, LAYERS = 8, VOCABULARY = 4096, LENGTH = 256, TOKENS = 16 };
enum { WARP = 32, THREADS = 128 };

struct layer {
	float *qkv, *out, *up, *down; /* matrices, a row for each output */
	float *keys, *values;	      /* LENGTH rows of WIDTH */
};

static cudaStream_t stream;
static cublasHandle_t handle;
static decltype(&cublasSgemm_v2) gemm;
static struct layer layers[LAYERS];
static float *embedding, *x, *normal, *qkv, *attended, *inner, *logits;
static int *token, *host_token; /* on the device; pinned */
static int place;		/* of the next token */

__global__ void fill(float *to, uint32_t seed, float size, int count)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	uint32_t word = ((uint32_t)i + seed * 7919u) * 2654435761u;

	word = (word ^ word >> 15) * 2246822519u;
	if (i < count)
		to[i] = size * ((float)(word >> 8) / (1 << 23) - 1);
}

__global__ void embed(float *to, const float *embedding, const int *token, int place)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	to[i] = embedding[*token * WIDTH + i] + 0.1f * __sinf((float)place / (float)(1 + i % 64));
}

static __device__ float sum_of_warp(float value)
{
	for (int distance = WARP / 2; distance > 0; distance /= 2)
		value += __shfl_xor_sync(~0u, value, distance);
	return value;
}

__global__ void normalize(float *to, const float *from)
{
	float square = 0;

	for (int i = (int)threadIdx.x; i < WIDTH; i += WARP)
		square += from[i] * from[i];
	square = rsqrtf(sum_of_warp(square) / WIDTH + 1e-5f);
	for (int i = (int)threadIdx.x; i < WIDTH; i += WARP)
		to[i] = from[i] * square;
}

__global__ void keep(float *keys, float *values, const float *qkv, int place)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	keys[place * WIDTH + i] = qkv[WIDTH + i];
	values[place * WIDTH + i] = qkv[2 * WIDTH + i];
}

/* A warp for each head; two numbers of the head in each thread. */
__global__ void attend(float *to, const float *qkv, const float *keys, const float *values, int length)
{
	int at = (int)blockIdx.x * HEAD + (int)threadIdx.x;
	float most = -1e30f, total = 0, a = 0, b = 0;

	for (int k = 0; k < length; k++) {
		float likeness = sum_of_warp(qkv[at] * keys[k * WIDTH + at] + qkv[at + WARP] * keys[k * WIDTH + at + WARP]) * 0.125f;
		float higher = fmaxf(most, likeness), before = __expf(most - higher), share = __expf(likeness - higher);

		total = total * before + share;
		a = a * before + share * values[k * WIDTH + at];
		b = b * before + share * values[k * WIDTH + at + WARP];
		most = higher;
	}
	to[at] = a / total;
	to[at + WARP] = b / total;
}

__global__ void squash(float *inner)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	inner[i] = inner[i] / (1 + __expf(-inner[i]));
}

/* The lowest of the likeliest. */
__global__ void choose(int *token, const float *logits)
{
	float most = -1e30f;
	int which = 0;

	for (int i = (int)threadIdx.x; i < VOCABULARY; i += WARP)
		if (logits[i] > most) {
			most = logits[i];
			which = i;
		}
	for (int distance = WARP / 2; distance > 0; distance /= 2) {
		float other = __shfl_xor_sync(~0u, most, distance);
		int its = __shfl_xor_sync(~0u, which, distance);

		if (other > most || (other == most && its < which)) {
			most = other;
			which = its;
		}
	}
	if (threadIdx.x == 0)
		*token = which;
}

/* to = matrix * from, or added to it. */
static void multiply(float *to, const float *matrix, const float *from, int rows, int columns, float kept)
{
	const float one = 1;

	CHECK(gemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, 1, columns, &one, matrix, columns, from, columns, &kept, to, rows));
}

static void pass(const struct layer *layer)
{
	normalize<<<1, WARP, 0, stream>>>(normal, x);
	multiply(qkv, layer->qkv, normal, 3 * WIDTH, WIDTH, 0);
	keep<<<WIDTH / THREADS, THREADS, 0, stream>>>(layer->keys, layer->values, qkv, place);
	attend<<<HEADS, WARP, 0, stream>>>(attended, qkv, layer->keys, layer->values, place + 1);
	multiply(x, layer->out, attended, WIDTH, WIDTH, 1);
	normalize<<<1, WARP, 0, stream>>>(normal, x);
	multiply(inner, layer->up, normal, INNER, WIDTH, 0);
	squash<<<INNER / THREADS, THREADS, 0, stream>>>(inner);
	multiply(x, layer->down, inner, WIDTH, INNER, 1);
}

static void step(void)
{
	for (int i = 0; i < TOKENS; i++) {
		embed<<<WIDTH / THREADS, THREADS, 0, stream>>>(x, embedding, token, place);
		for (int layer = 0; layer < LAYERS; layer++)
			pass(&layers[layer]);
		normalize<<<1, WARP, 0, stream>>>(normal, x);
		multiply(logits, embedding, normal, VOCABULARY, WIDTH, 0);
		choose<<<1, WARP, 0, stream>>>(token, logits);
		place = (place + 1) % LENGTH;
	}
	CHECK(cudaMemcpyAsync(host_token, token, sizeof(*token), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(*host_token >= 0 && *host_token < VOCABULARY);
}

static float *filled(int rows, int columns, float size)
{
	static uint32_t seed;
	const int count = rows * columns;
	float *matrix;

	CHECK(cudaMalloc(&matrix, sizeof(*matrix) * (size_t)count));
	fill<<<(count + THREADS - 1) / THREADS, THREADS, 0, stream>>>(matrix, ++seed, size, count);
	return matrix;
}

static void make(void)
{
	for (int i = 0; i < LAYERS; i++)
		layers[i] = {filled(3 * WIDTH, WIDTH, 0.07f), filled(WIDTH, WIDTH, 0.07f), filled(INNER, WIDTH, 0.07f),
			     filled(WIDTH, INNER, 0.03f), filled(LENGTH, WIDTH, 0), filled(LENGTH, WIDTH, 0)};
	embedding = filled(VOCABULARY, WIDTH, 1);
	x = filled(WIDTH, 1, 0);
	normal = filled(WIDTH, 1, 0);
	qkv = filled(3 * WIDTH, 1, 0);
	attended = filled(WIDTH, 1, 0);
	inner = filled(INNER, 1, 0);
	logits = filled(VOCABULARY, 1, 0);
	CHECK(cudaMalloc(&token, sizeof(*token)));
	CHECK(cudaMemsetAsync(token, 0, sizeof(*token), stream));
	CHECK(cudaHostAlloc(&host_token, sizeof(*host_token), cudaHostAllocDefault));
}

/* All keys and values that are kept, and the last logits. */
static uint64_t result(void)
{
	const size_t count = (size_t)LENGTH * WIDTH;
	float *host = (float *)malloc((2 * LAYERS * count + VOCABULARY) * sizeof(*host)), *end = host;

	for (int i = 0; i < LAYERS; i++, end += 2 * count) {
		CHECK(cudaMemcpy(end, layers[i].keys, count * sizeof(*host), cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(end + count, layers[i].values, count * sizeof(*host), cudaMemcpyDeviceToHost));
	}
	CHECK(cudaMemcpy(end, logits, VOCABULARY * sizeof(*host), cudaMemcpyDeviceToHost));
	return digest(host, (size_t)(end + VOCABULARY - host) * sizeof(*host));
}

int main(int argc, char **argv)
{
	static const struct turns_program programs[] = {{"decode", step, 0}};
	const struct turns_program *program = turns_find(programs, 1, argc, argv);
	void *library = load_library("libcublas.so.13", "cublas");

	gemm = LOAD(library, cublasSgemm_v2);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(LOAD(library, cublasCreate_v2)(&handle));
	CHECK(LOAD(library, cublasSetStream_v2)(handle, stream));
	make();
	turns_run(program, argc, argv);
	CHECK(cudaGetLastError());
	printf("ok language %s %016llx\n", program->name, (unsigned long long)result());
	CHECK(LOAD(library, cublasDestroy_v2)(handle));
	return 0;
}
