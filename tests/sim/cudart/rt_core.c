/* Finding the driver, the current device and context, the last error: see rt.h. */
#include "tests/sim/cudart/rt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#define DEVICES_MAX 64

struct rt_driver rt;
struct rt_streamed rt_streamed[2];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t start_result;
static PFN_cuGetProcAddress_v12000 proc_address;

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICES_MAX]; /* retained by us; NULL = not yet, or reset */

static _Atomic unsigned long entries;

static __thread cudaError_t last_error;
static __thread int device;
static __thread CUcontext bound; /* the primary context that we made current on this thread */

static void start_find(void *slot, const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;

	if (proc_address(name, (void **)slot, version, flags, &status) != CUDA_SUCCESS)
		*(void **)slot = NULL;
}

/* "7000_ptsz" -> 7000 */
static int twin_version(const char *twin)
{
	int version = 0;

	while (*twin >= '0' && *twin <= '9')
		version = version * 10 + *twin++ - '0';
	return version;
}

/* The dlsym of a shim under a sanitizer, which cannot have that name there: see shim/api/doors.S. */
__attribute__((weak)) void *gs_door_dlsym(void *handle, const char *name);

static void start(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *(*find)(void *, const char *) = gs_door_dlsym ? gs_door_dlsym : dlsym;

	start_result = cudaErrorInsufficientDriver;
	proc_address = driver ? (PFN_cuGetProcAddress_v12000)find(driver, "cuGetProcAddress_v2") : NULL;
	if (!proc_address)
		return;
#define RT_DRIVER(name, version) start_find(&rt.name, #name, version, CU_GET_PROC_ADDRESS_DEFAULT);
#define RT_STREAMED(name, version, twin)                                                                               \
	start_find(&rt_streamed[0].name, #name, version, CU_GET_PROC_ADDRESS_DEFAULT);                                 \
	start_find(&rt_streamed[1].name, #name, twin_version(#twin), CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
#include "tests/sim/cudart/rt_driver.def"
#undef RT_DRIVER
#undef RT_STREAMED
	start_result = (cudaError_t)rt.cuInit(0);
}

cudaError_t rt_start(void)
{
	atomic_fetch_add_explicit(&entries, 1, memory_order_relaxed);
	pthread_once(&once, start);
	return start_result;
}

PFN_cuGetProcAddress_v12000 rt_proc_address(void)
{
	return proc_address;
}

cudaError_t rt_result(CUresult result)
{
	if (result != CUDA_SUCCESS)
		last_error = (cudaError_t)result;
	return (cudaError_t)result;
}

static cudaError_t primary_bind(void)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&primary_lock);
	if (!primaries[device])
		result = rt.cuDevicePrimaryCtxRetain(&primaries[device], device);
	if (result == CUDA_SUCCESS)
		result = rt.cuCtxSetCurrent(primaries[device]);
	if (result == CUDA_SUCCESS)
		bound = primaries[device];
	pthread_mutex_unlock(&primary_lock);
	return (cudaError_t)result;
}

__attribute__((visibility("default"))) unsigned long sim_cudart_entries(void);
unsigned long sim_cudart_entries(void)
{
	return atomic_load(&entries);
}

/* A context that is current and not ours stays; ours is replaced after a reset by another thread. */
cudaError_t rt_enter(void)
{
	cudaError_t started = rt_start();
	CUcontext current = NULL;
	CUresult result;

	if (started != cudaSuccess)
		return started;
	result = rt.cuCtxGetCurrent(&current);
	if (result != CUDA_SUCCESS)
		return (cudaError_t)result;
	if (current && (current != bound || current == primaries[device]))
		return cudaSuccess;
	return primary_bind();
}

int rt_device(void)
{
	return device;
}

cudaError_t rt_device_set(int ordinal)
{
	int count = 0;
	CUresult result = rt.cuDeviceGetCount(&count);

	if (result != CUDA_SUCCESS)
		return (cudaError_t)result;
	if (ordinal < 0 || ordinal >= count || ordinal >= DEVICES_MAX)
		return cudaErrorInvalidDevice;
	device = ordinal;
	return primary_bind();
}

cudaError_t rt_device_reset(void)
{
	CUresult result;

	pthread_mutex_lock(&primary_lock);
	result = rt.cuDevicePrimaryCtxReset(device);
	primaries[device] = NULL;
	bound = NULL;
	rt.cuCtxSetCurrent(NULL);
	pthread_mutex_unlock(&primary_lock);
	return (cudaError_t)result;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

/*  X(code, name where it is not the driver's in runtime spelling) */
#define RUNTIME_NAMES(X)                                                                                               \
	X(cudaSuccess)                                                                                                 \
	X(cudaErrorInvalidValue)                                                                                       \
	X(cudaErrorMemoryAllocation)                                                                                   \
	X(cudaErrorInitializationError)                                                                                \
	X(cudaErrorInsufficientDriver)                                                                                 \
	X(cudaErrorInvalidDeviceFunction)                                                                              \
	X(cudaErrorNoDevice)                                                                                           \
	X(cudaErrorInvalidDevice)                                                                                      \
	X(cudaErrorDeviceUninitialized)                                                                                \
	X(cudaErrorInvalidResourceHandle)                                                                              \
	X(cudaErrorSymbolNotFound)                                                                                     \
	X(cudaErrorNotReady)                                                                                           \
	X(cudaErrorIllegalAddress)                                                                                     \
	X(cudaErrorContextIsDestroyed)                                                                                 \
	X(cudaErrorHostMemoryAlreadyRegistered)                                                                        \
	X(cudaErrorHostMemoryNotRegistered)                                                                            \
	X(cudaErrorNotSupported)                                                                                       \
	X(cudaErrorUnknown)

const char *cudaGetErrorName(cudaError_t error)
{
	switch (error) {
#define NAME_CASE(code)                                                                                                \
	case code:                                                                                                     \
		return #code;
		RUNTIME_NAMES(NAME_CASE)
	default:
		return "unrecognized error code";
	}
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = NULL;

	if (rt_start() == cudaErrorInsufficientDriver || rt.cuGetErrorString((CUresult)error, &text) != CUDA_SUCCESS)
		text = NULL;
	return text ? text : cudaGetErrorName(error);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	*version = SIM_CUDART_MAJOR == 12 ? 12080 : 13000;
	return cudaSuccess;
}

/* 0 where there is no driver, as the real one says. */
cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	*version = 0;
	return rt_start() == cudaErrorInsufficientDriver ? cudaSuccess : rt_result(rt.cuDriverGetVersion(version));
}
