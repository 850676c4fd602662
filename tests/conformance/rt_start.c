/* Rule (H5): the runtime starts at the first call that needs a device: cudaFree(NULL) does it; asking for versions or
 * the error does not. Sizes of 0 give NULL. The last error is given once. */
#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

int main(void)
{
	int version = 0, device = 9;
	void *pointer = &version;

	NEED(cudaRuntimeGetVersion(&version));
	WANT(version / 1000, 13);
	WANT(cudaGetLastError(), cudaSuccess);
	NEED(cudaFree(NULL));
	NEED(cudaGetDevice(&device));
	WANT(device, 0);
	NEED(cudaMalloc(&pointer, 0));
	WANT(pointer == NULL, 1);
	WANT(cudaSetDevice(4096), cudaErrorInvalidDevice);
	WANT(cudaFree((void *)64), cudaErrorInvalidValue);
	WANT(cudaPeekAtLastError(), cudaErrorInvalidValue);
	NEED(cudaMalloc(&pointer, 64));
	WANT(cudaGetLastError(), cudaErrorInvalidValue);
	WANT(cudaGetLastError(), cudaSuccess);
	NEED(cudaFree(pointer));
	return rule_broken;
}
