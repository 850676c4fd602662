/* Rule: cudaMallocAsync and the pool calls that PyTorch's async backend makes. */
#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

int main(void)
{
	unsigned long long value = 0, threshold = (unsigned long long)-1;
	struct cudaPointerAttributes attributes;
	cudaMemPool_t pool;
	void *pointer;
	int off = 0;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	NEED(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	NEED(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
	NEED(cudaMallocAsync(&pointer, 1 << 20, NULL));
	NEED(cudaPointerGetAttributes(&attributes, pointer));
	WANT(attributes.type, cudaMemoryTypeDevice);
	WANT(attributes.device, 0);
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
	WANT(value, 1 << 20);
	NEED(cudaFreeAsync(pointer, NULL));
	NEED(cudaStreamSynchronize(NULL));
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
	WANT(value >= 1 << 20, 1);
	NEED(cudaMemPoolTrimTo(pool, 0));
	NEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
	WANT(value, 0);
	NEED(cudaPointerGetAttributes(&attributes, &value));
	WANT(attributes.type, cudaMemoryTypeUnregistered);
	return rule_broken;
}
