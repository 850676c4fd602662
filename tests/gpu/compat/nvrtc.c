/* A kernel compiled at run time by NVRTC and launched through the driver API beside the runtime's own. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { COUNT = 30000 };

static const char source[] = "extern \"C\" __global__ void axpy(float *y, const float *x, float a, int count)\n"
			     "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) y[i] += a * x[i]; }\n";

int main(void)
{
	void *library = load_library("libnvrtc.so.13", "libnvrtc");
	void *driver = load_library("libcuda.so.1", "libcuda");
	__auto_type create = LOAD(library, nvrtcCreateProgram);
	__auto_type compile = LOAD(library, nvrtcCompileProgram);
	__auto_type size = LOAD(library, nvrtcGetCUBINSize);
	__auto_type get = LOAD(library, nvrtcGetCUBIN);
	__auto_type load = LOAD(driver, cuModuleLoadData);
	__auto_type find = LOAD(driver, cuModuleGetFunction);
	__auto_type launch = LOAD(driver, cuLaunchKernel);
	__auto_type unload = LOAD(driver, cuModuleUnload);
	static float x[COUNT], y[COUNT];
	float *device_x, *device_y;
	struct cudaDeviceProp properties;
	char architecture[40];
	const char *options[] = {architecture};
	int count = COUNT;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaMalloc((void **)&device_x, sizeof(x)));
	CHECK(cudaMalloc((void **)&device_y, sizeof(y)));
	CHECK(cudaMemset(device_y, 0, sizeof(y)));
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)(i % 100);
	CHECK(cudaMemcpy(device_x, x, sizeof(x), cudaMemcpyHostToDevice));
	snprintf(architecture, sizeof(architecture), "--gpu-architecture=sm_%d%d", properties.major, properties.minor);
	for (int round = 1; round <= 3; round++) {
		nvrtcProgram program;
		CUmodule module;
		CUfunction axpy;
		size_t bytes;
		char *image;
		float a = (float)round;
		void *arguments[] = {&device_y, &device_x, &a, &count};

		CHECK(create(&program, source, "axpy.cu", 0, NULL, NULL));
		CHECK(compile(program, 1, options));
		CHECK(size(program, &bytes));
		image = malloc(bytes);
		CHECK(get(program, image));
		CHECK(load(&module, image));
		free(image);
		CHECK(find(&axpy, module, "axpy"));
		for (int i = 0; i < 10; i++)
			CHECK(launch(axpy, (COUNT + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
		CHECK(cudaDeviceSynchronize());
		CHECK(unload(module));
	}
	CHECK(cudaMemcpy(y, device_y, sizeof(y), cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		EXPECT(y[i] == 60 * x[i]);
	CHECK(cudaFree(device_x));
	CHECK(cudaFree(device_y));
	printf("ok nvrtc %016llx\n", (unsigned long long)digest(y, sizeof(y)));
	return 0;
}
