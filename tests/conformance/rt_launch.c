/* Rule: with CUDA 13 <<<>>> reaches the driver through __cudaGetKernel and __cudaLaunchKernel, the plain API through
 * cudaLaunchKernel and cudaLaunchKernelExC; an unregistered function is InvalidDeviceFunction. */
#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

static void host_function(void)
{
}

static void stranger(void)
{
}

typedef cudaError_t get_kernel_fn(cudaKernel_t *, const void *);
typedef cudaError_t launch_kernel_fn(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);

int main(void)
{
	unsigned value = 3, out[4] = {0};
	unsigned long long count = 4;
	sim_cudart_register_fn *reg;
	get_kernel_fn *get_kernel;
	launch_kernel_fn *launch_kernel;
	dim3 one = {1, 1, 1};
	cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};
	cudaKernel_t kernel;
	void *device;
	void *params[] = {&device, &value, &count};

	NEED(cudaFree(NULL));
	rule_simulator_only("kernels by name");
	*(void **)&reg = sim_find("sim_cudart_register");
	*(void **)&get_kernel = dlsym(RTLD_DEFAULT, "__cudaGetKernel");
	*(void **)&launch_kernel = dlsym(RTLD_DEFAULT, "__cudaLaunchKernel");
	reg((const void *)host_function, "sim_fill");
	NEED(cudaMalloc(&device, sizeof(out)));
	NEED(get_kernel(&kernel, (const void *)host_function));
	WANT((const void *)kernel != (const void *)host_function, 1);
	NEED(launch_kernel(kernel, one, one, params, 0, NULL));
	NEED(cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost));
	WANT(out[3], 3);
	value = 4;
	NEED(cudaLaunchKernel((const void *)host_function, one, one, params, 0, NULL));
	NEED(cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost));
	WANT(out[3], 4);
	value = 5;
	NEED(cudaLaunchKernelExC(&config, (const void *)host_function, params));
	NEED(cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost));
	WANT(out[3], 5);
	WANT(cudaLaunchKernel((const void *)stranger, one, one, params, 0, NULL), cudaErrorInvalidDeviceFunction);
	WANT(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	return rule_broken;
}
