/* See route.h.
 *
 * PyTorch's functions allocate on its current stream, which is changed only where the trace does: on a trace with one
 * stream an operation is one call. */
#include "tests/tools/route.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* --- the runtime ------------------------------------------------------------------------------------------------- */

static const char *async_prepare(void)
{
	unsigned long long threshold = UINT64_MAX;
	cudaMemPool_t pool;

	if (cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess ||
	    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) != cudaSuccess)
		return "the device has no memory pool";
	return NULL;
}

static bool async_alloc(void **ret_address, size_t size_bytes, cudaStream_t stream)
{
	return cudaMallocAsync(ret_address, size_bytes, stream) == cudaSuccess;
}

static bool async_free(void *address, cudaStream_t stream)
{
	return cudaFreeAsync(address, stream) == cudaSuccess;
}

static const char *sync_prepare(void)
{
	return NULL;
}

static bool sync_alloc(void **ret_address, size_t size_bytes, cudaStream_t stream)
{
	(void)stream;
	return cudaMalloc(ret_address, size_bytes) == cudaSuccess;
}

static bool sync_free(void *address, cudaStream_t stream)
{
	(void)stream;
	return cudaFree(address) == cudaSuccess;
}

/* --- PyTorch: torch/csrc/inductor/aoti_torch/c/shim.h, results are 0 or an error ----------------------------------- */

static struct {
	int (*alloc)(uint64_t size_bytes, void **ret_address);
	int (*free)(void *address);
	int (*enter_stream)(void *stream, int32_t device, void **ret_guard);
	int (*leave_stream)(void *guard);
	void *guard;
	cudaStream_t stream;
} torch;

/* An empty tensor starts PyTorch on the device. */
static bool torch_start(void *library)
{
	int (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, void **) =
		(__typeof__(empty))dlsym(library, "aoti_torch_empty_strided");
	int (*drop)(void *) = (__typeof__(drop))dlsym(library, "aoti_torch_delete_tensor_object");
	int32_t (*bytes)(void) = (__typeof__(bytes))dlsym(library, "aoti_torch_dtype_uint8");
	int32_t (*cuda)(void) = (__typeof__(cuda))dlsym(library, "aoti_torch_device_type_cuda");
	int64_t size = 1, stride = 1;
	void *tensor;

	if (!empty || !drop || !bytes || !cuda || empty(1, &size, &stride, bytes(), cuda(), 0, &tensor) != 0)
		return false;
	return drop(tensor) == 0;
}

static const char *torch_prepare(void)
{
	void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL);

	if (!library)
		return "no libtorch_cuda.so in LD_LIBRARY_PATH";
	torch.alloc = (__typeof__(torch.alloc))dlsym(library, "aoti_torch_cuda_caching_allocator_raw_alloc");
	torch.free = (__typeof__(torch.free))dlsym(library, "aoti_torch_cuda_caching_allocator_raw_delete");
	torch.enter_stream = (__typeof__(torch.enter_stream))dlsym(library, "aoti_torch_create_cuda_stream_guard");
	torch.leave_stream = (__typeof__(torch.leave_stream))dlsym(library, "aoti_torch_delete_cuda_stream_guard");
	if (!torch.alloc || !torch.free || !torch.enter_stream || !torch.leave_stream)
		return "this PyTorch does not export its allocator";
	return torch_start(library) ? NULL : "PyTorch does not start on the device";
}

static bool torch_alloc(void **ret_address, size_t size_bytes, cudaStream_t stream)
{
	if (stream != torch.stream) {
		if (torch.guard)
			torch.leave_stream(torch.guard);
		torch.guard = NULL;
		if (stream && torch.enter_stream(stream, 0, &torch.guard) != 0)
			return false;
		torch.stream = stream;
	}
	return torch.alloc(size_bytes, ret_address) == 0;
}

static bool torch_free(void *address, cudaStream_t stream)
{
	(void)stream;
	return torch.free(address) == 0;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

/* --- nothing: what the replay itself costs ------------------------------------------------------------------------ */

static const char *none_prepare(void)
{
	return NULL;
}

static bool none_alloc(void **ret_address, size_t size_bytes, cudaStream_t stream)
{
	static uintptr_t next = 4096;

	(void)stream;
	*ret_address = (void *)next;
	next += size_bytes;
	return true;
}

static bool none_free(void *address, cudaStream_t stream)
{
	(void)stream;
	return address != NULL;
}

static const struct route routes[] = {
	{"async", true, async_prepare, async_alloc, async_free},
	{"sync", false, sync_prepare, sync_alloc, sync_free},
	{"torch", false, torch_prepare, torch_alloc, torch_free},
	{"none", false, none_prepare, none_alloc, none_free},
};

const struct route *route_find(const char *name)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!strcmp(routes[i].name, name))
			return &routes[i];
	}
	return NULL;
}
