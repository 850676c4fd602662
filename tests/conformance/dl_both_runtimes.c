/* Rule (H26): libcudart.so.12 and .13 live side by side in one process: each has its own symbols, version and last
 * error, both share the device's primary context and see each other's memory. */
#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

struct runtime {
	cudaError_t (*version)(int *);
	cudaError_t (*malloc)(void **, size_t);
	cudaError_t (*free)(void *);
	cudaError_t (*memset)(void *, int, size_t);
	cudaError_t (*memcpy)(void *, const void *, size_t, enum cudaMemcpyKind);
	cudaError_t (*last_error)(void);
};

static void runtime_load(struct runtime *runtime, const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		printf("no %s here\n", library);
		exit(77);
	}
	*(void **)&runtime->version = dlsym(handle, "cudaRuntimeGetVersion");
	*(void **)&runtime->malloc = dlsym(handle, "cudaMalloc");
	*(void **)&runtime->free = dlsym(handle, "cudaFree");
	*(void **)&runtime->memset = dlsym(handle, "cudaMemset");
	*(void **)&runtime->memcpy = dlsym(handle, "cudaMemcpy");
	*(void **)&runtime->last_error = dlsym(handle, "cudaGetLastError");
}

int main(void)
{
	struct runtime old, new;
	unsigned char out[64] = {0};
	int version = 0;
	void *pointer;

	runtime_load(&old, "libcudart.so.12");
	runtime_load(&new, "libcudart.so.13");
	NEED(old.version(&version));
	WANT(version / 1000, 12);
	NEED(new.version(&version));
	WANT(version / 1000, 13);
	NEED(old.malloc(&pointer, sizeof(out)));
	NEED(new.memset(pointer, 0x33, sizeof(out)));
	NEED(old.memcpy(out, pointer, sizeof(out), cudaMemcpyDeviceToHost));
	WANT(out[63], 0x33);
	NEED(new.free(pointer));
	WANT(old.free(pointer), cudaErrorInvalidValue);
	WANT(new.last_error(), cudaSuccess);
	WANT(old.last_error(), cudaErrorInvalidValue);
	return rule_broken;
}
