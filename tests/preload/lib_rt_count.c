/* A library linked to one CUDA runtime (13; lib_rt12_count.c: 12): says which one it reaches, by the version and by
 * the last error, which each runtime keeps for itself. The shim knows the runtime of a caller by the return address, so
 * there must be one: a tail call would show the function above. */
#pragma GCC optimize("no-optimize-sibling-calls")
#include <stdio.h>

#include <cuda_runtime_api.h>

int rt_version(void);
int rt_fail(void);
int rt_last_error(void);
void *rt_alloc(size_t size_bytes);
int rt_free(void *pointer);

int rt_version(void)
{
	int version = 0;

	return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : -1;
}

/* Fails in a function that the shim stands in for, and leaves the error in that runtime. */
int rt_fail(void)
{
	return cudaFree((void *)64);
}

int rt_last_error(void)
{
	return cudaGetLastError();
}

void *rt_alloc(size_t size_bytes)
{
	void *pointer = NULL;

	return cudaMalloc(&pointer, size_bytes) == cudaSuccess ? pointer : NULL;
}

int rt_free(void *pointer)
{
	return cudaFree(pointer);
}
