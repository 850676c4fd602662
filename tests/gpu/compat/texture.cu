/* Textures over an array and over pitched memory, a surface that is written, and arrays freed and
 * made again. */
#include <cuda_runtime.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { WIDTH = 300, HEIGHT = 200, ROUNDS = 6 };

__global__ void read(float *out, cudaTextureObject_t texture)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	if (x < WIDTH)
		out[y * WIDTH + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void write(cudaSurfaceObject_t surface, float more)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	float value;

	if (x >= WIDTH)
		return;
	surf2Dread(&value, surface, x * (int)sizeof(float), y);
	surf2Dwrite(value + more, surface, x * (int)sizeof(float), y);
}

static float host[HEIGHT][WIDTH], back[HEIGHT][WIDTH], *out;

static void check(cudaResourceDesc resource, float more)
{
	cudaTextureDesc how = {};
	cudaTextureObject_t texture;

	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
	read<<<dim3((WIDTH + 127) / 128, HEIGHT), 128>>>(out, texture);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
	CHECK(cudaDestroyTextureObject(texture));
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			EXPECT(back[y][x] == host[y][x] + more);
}

int main(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	size_t row_bytes = WIDTH * sizeof(float);

	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			host[y][x] = (float)(x * 7 + y * 1000);
	CHECK(cudaMalloc(&out, sizeof(host)));
	for (int round = 0; round < ROUNDS; round++) {
		cudaResourceDesc resource = {};
		cudaSurfaceObject_t surface;
		cudaArray_t array;
		float *pitched;
		size_t pitch;

		CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
		CHECK(cudaMemcpy2DToArray(array, 0, 0, host, row_bytes, row_bytes, HEIGHT, cudaMemcpyHostToDevice));
		resource.resType = cudaResourceTypeArray;
		resource.res.array.array = array;
		check(resource, 0);
		CHECK(cudaCreateSurfaceObject(&surface, &resource));
		write<<<dim3((WIDTH + 127) / 128, HEIGHT), 128>>>(surface, 3);
		CHECK(cudaGetLastError());
		CHECK(cudaDestroySurfaceObject(surface));
		check(resource, 3);
		CHECK(cudaFreeArray(array));

		CHECK(cudaMallocPitch(&pitched, &pitch, row_bytes, HEIGHT));
		CHECK(cudaMemcpy2D(pitched, pitch, host, row_bytes, row_bytes, HEIGHT, cudaMemcpyHostToDevice));
		resource = {};
		resource.resType = cudaResourceTypePitch2D;
		resource.res.pitch2D.devPtr = pitched;
		resource.res.pitch2D.desc = format;
		resource.res.pitch2D.width = WIDTH;
		resource.res.pitch2D.height = HEIGHT;
		resource.res.pitch2D.pitchInBytes = pitch;
		check(resource, 0);
		CHECK(cudaFree(pitched));
	}
	CHECK(cudaFree(out));
	printf("ok texture %016llx\n", (unsigned long long)digest(back, sizeof(back)));
	return 0;
}
