/* Kernels of the simulated runtime: which host function stands for which kernel, and launches.
 *
 * Real programs register through __cudaRegisterFunction, as nvcc's start-up code does; C test programs may use
 * sim_cudart_register. The device code is one library, loaded at the first launch. Nothing here can run what nvcc compiled:
 * a kernel of that kind does nothing, and the first one says so. */
#include "tests/sim/cudart/rt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define CONFIGURATIONS_MAX 8

struct registered {
	const void *host;
	const char *name; /* owned */
	bool compiled;	  /* by nvcc */
	CUkernel kernel;  /* NULL until first needed */
	CUfunction function;
	struct registered *next;
};

struct configuration {
	dim3 grid;
	dim3 block;
	size_t shared;
	cudaStream_t stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered *registry;
static CUlibrary library;

static __thread struct configuration configurations[CONFIGURATIONS_MAX];
static __thread unsigned configuration_count;

__attribute__((visibility("default"))) void sim_cudart_register(const void *host, const char *name);

static void register_host(const void *host, const char *name, bool compiled)
{
	struct registered *made = calloc(1, sizeof(*made));

	if (!made || !(made->name = strdup(name)))
		abort();
	made->host = host;
	made->compiled = compiled;
	pthread_mutex_lock(&lock);
	made->next = registry;
	registry = made;
	pthread_mutex_unlock(&lock);
}

void sim_cudart_register(const void *host, const char *name)
{
	register_host(host, name, false);
}

static void nothing_run(const struct sim_launch *launch)
{
	(void)launch;
}

/* Makes the driver know a compiled kernel. */
static void kernel_stand_in(const char *name)
{
	static bool said;
	sim_kernel_register_fn *kernel_register;

	*(void **)&kernel_register = sim_find("sim_kernel_register");
	if (kernel_register)
		kernel_register(name, nothing_run, 0, NULL);
	if (!said)
		fprintf(stderr, "gpushim-sim: kernels that nvcc compiled do nothing on the simulated GPU\n");
	said = true;
}

/* The kernel of a host function; NULL when it is none. */
static cudaError_t kernel_of(const void *host, struct registered **ret_found)
{
	static const char image[] = "gpushim-sim";
	CUresult result = CUDA_SUCCESS;
	struct registered *found;

	pthread_mutex_lock(&lock);
	found = registry;
	while (found && found->host != host)
		found = found->next;
	if (found && !found->kernel) {
		if (!library)
			result = rt.cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
		if (result == CUDA_SUCCESS)
			result = rt.cuLibraryGetKernel(&found->kernel, library, found->name);
		if (result == CUDA_ERROR_NOT_FOUND && found->compiled) {
			kernel_stand_in(found->name);
			result = rt.cuLibraryGetKernel(&found->kernel, library, found->name);
		}
		if (result == CUDA_SUCCESS && SIM_CUDART_MAJOR == 12)
			result = rt.cuKernelGetFunction(&found->function, found->kernel);
	}
	pthread_mutex_unlock(&lock);
	*ret_found = found;
	return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

/* What the driver gets: a CUkernel since 13, a CUfunction before. A handle that the program got from us passes. */
cudaError_t rt_launch_handle(const void *host, CUfunction *ret_handle)
{
	struct registered *found;
	const char *name;
	cudaError_t error = kernel_of(host, &found);

	if (error != cudaSuccess)
		return error;
	if (!found && rt.cuFuncGetName(&name, (CUfunction)host) != CUDA_SUCCESS)
		return cudaErrorInvalidDeviceFunction;
	*ret_handle = !found ? (CUfunction)host : SIM_CUDART_MAJOR == 12 ? found->function : (CUfunction)found->kernel;
	return cudaSuccess;
}

static cudaError_t launch(const struct rt_streamed *d, const void *func, dim3 grid, dim3 block, void **args,
			  size_t shared, cudaStream_t stream)
{
	CUfunction handle = NULL;
	cudaError_t error = rt_launch_handle(func, &handle);

	if (error != cudaSuccess)
		return rt_result((CUresult)error);
	return rt_result(d->cuLaunchKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
					   stream, args, NULL));
}

RT_TWIN(cudaLaunchKernel, _ptsz,
	(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	(func, grid, block, args, shared, stream))
{
	return launch(d, func, grid, block, args, shared, stream);
}

RT_TWIN(cudaLaunchCooperativeKernel, _ptsz,
	(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	(func, grid, block, args, shared, stream))
{
	CUfunction handle = NULL;
	cudaError_t error = rt_launch_handle(func, &handle);

	if (error != cudaSuccess)
		return rt_result((CUresult)error);
	return rt_result(d->cuLaunchCooperativeKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z,
						      (unsigned)shared, stream, args));
}

RT_TWIN(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t *config, const void *func, void **args),
	(config, func, args))
{
	CUfunction handle = NULL;
	cudaError_t error = config ? rt_launch_handle(func, &handle) : cudaErrorInvalidValue;
	CUlaunchConfig driver;

	if (error != cudaSuccess)
		return rt_result((CUresult)error);
	driver = (CUlaunchConfig){
	    .gridDimX = config->gridDim.x,
	    .gridDimY = config->gridDim.y,
	    .gridDimZ = config->gridDim.z,
	    .blockDimX = config->blockDim.x,
	    .blockDimY = config->blockDim.y,
	    .blockDimZ = config->blockDim.z,
	    .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
	    .hStream = config->stream,
	    .attrs = (CUlaunchAttribute *)config->attrs,
	    .numAttrs = config->numAttrs,
	};
	return rt_result(d->cuLaunchKernelEx(&driver, handle, args, NULL));
}

#if SIM_CUDART_MAJOR >= 13
#pragma GCC visibility push(default)
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream);
#pragma GCC visibility pop

/* Without a registration the handle is the host function itself. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	struct registered *found;
	cudaError_t error;

	*kernel = (cudaKernel_t)host;
	RT_ENTER();
	error = kernel_of(host, &found);
	if (error == cudaSuccess && !found)
		error = cudaErrorInvalidDeviceFunction;
	if (error == cudaSuccess)
		*kernel = (cudaKernel_t)found->kernel;
	return rt_result((CUresult)error);
}

RT_TWIN(__cudaLaunchKernel, _ptsz,
	(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
	(kernel, grid, block, args, shared, stream))
{
	return launch(d, kernel, grid, block, args, shared, stream);
}
#endif

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	struct registered *found;
	cudaError_t error;

	RT_ENTER();
	error = kernel ? kernel_of(host, &found) : cudaErrorInvalidValue;
	if (error == cudaSuccess && !found)
		error = cudaErrorInvalidDeviceFunction;
	if (error == cudaSuccess)
		*kernel = (cudaKernel_t)found->kernel;
	return rt_result((CUresult)error);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host)
{
	struct registered *found;
	cudaError_t error;
	CUfunction handle;

	RT_ENTER();
	error = function ? kernel_of(host, &found) : cudaErrorInvalidValue;
	if (error == cudaSuccess && !found)
		error = cudaErrorInvalidDeviceFunction;
	if (error == cudaSuccess)
		error = (cudaError_t)rt.cuKernelGetFunction(&handle, found->kernel);
	if (error == cudaSuccess)
		*function = (cudaFunction_t)handle;
	return rt_result((CUresult)error);
}

cudaError_t cudaFuncGetName(const char **name, const void *host)
{
	CUfunction handle = NULL;
	cudaError_t error;

	RT_ENTER();
	error = rt_launch_handle(host, &handle);
	return rt_result(error == cudaSuccess ? rt.cuFuncGetName(name, handle) : (CUresult)error);
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
	CUfunction handle = NULL;
	cudaError_t error;

	RT_ENTER();
	error = rt_launch_handle(host, &handle);
	return rt_result(error == cudaSuccess ? rt.cuFuncSetAttribute(handle, (CUfunction_attribute)attribute, value)
					      : (CUresult)error);
}

/* Start-up code of nvcc objects. A fat binary's handle is never looked into. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
			    uint3 *bid, dim3 *block, dim3 *grid, int *warp);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

#define RT_EXPORT __attribute__((visibility("default")))

RT_EXPORT void **__cudaRegisterFatBinary(void *binary)
{
	void **handle = malloc(sizeof(*handle));

	if (handle)
		*handle = binary;
	return handle;
}

RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

RT_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	free(handle);
}

RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
				      uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
	(void)handle, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	register_host(host, name, true);
}

RT_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	if (configuration_count == CONFIGURATIONS_MAX)
		return 1;
	configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	struct configuration *top;

	if (configuration_count == 0)
		return rt_result((CUresult)cudaErrorMissingConfiguration);
	top = &configurations[--configuration_count];
	*grid = top->grid;
	*block = top->block;
	*shared = top->shared;
	*(cudaStream_t *)stream = top->stream;
	return cudaSuccess;
}
