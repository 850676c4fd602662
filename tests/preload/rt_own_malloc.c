/* The program has a cudaMalloc of its own that asks for the next one. */
#include "tests/preload/own.h"

#include <cuda_runtime_api.h>

static unsigned calls;

cudaError_t cudaMalloc(void **pointer, size_t size_bytes)
{
	static cudaError_t (*next)(void **pointer, size_t size_bytes);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
	if (++calls > 100)
		abort();
	return next(pointer, size_bytes);
}

int main(void)
{
	void *pointer = NULL;

	printf("malloc %d", cudaMalloc(&pointer, 1000));
	printf(", free %d", cudaFree(pointer));
	printf(", %u calls\n", calls);
	return 0;
}
