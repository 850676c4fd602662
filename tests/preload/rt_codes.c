/* Calls that a driver refuses, and those it does not: prints every code. The output must be the same with the shim. */
#include "tests/preload/kernel.h"

static void print_code(const char *what, cudaError_t error)
{
	printf("%s: %d, last error %d\n", what, error, cudaGetLastError());
}

#define CODE(call) print_code(#call, call)

static void try_sizes(void)
{
	static const size_t sizes[] = {1, 255, 4096, 2u << 20, (2u << 20) + 1, 5000000};
	size_t free_bytes, total_bytes;
	void *pointer = (void *)1;

	CODE(cudaMalloc(&pointer, 0));
	printf("size 0 gives %s\n", pointer == NULL ? "NULL" : "something");
	CODE(cudaFree(pointer));
	CODE(cudaMallocAsync(&pointer, 0, NULL));
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CODE(cudaMalloc(&pointer, sizes[i]));
		printf("aligned to 256: %d\n", (uintptr_t)pointer % 256 == 0);
		CODE(cudaMemset(pointer, 1, sizes[i]));
		CODE(cudaFree(pointer));
	}
	NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
	CODE(cudaMalloc(&pointer, total_bytes + 1));
	CODE(cudaMalloc(&pointer, (size_t)1 << 60));
	CODE(cudaMalloc(&pointer, (size_t)-1));
	CODE(cudaMalloc(&pointer, (size_t)-4096));
	CODE(cudaMallocAsync(&pointer, (size_t)1 << 60, NULL));
	CODE(cudaMallocAsync(&pointer, (size_t)-1, NULL));
	CODE(cudaMalloc(NULL, 4096));
	CODE(cudaMallocAsync(NULL, 4096, NULL));
}

static void try_frees(void)
{
	char here[64];
	void *pointer, *ordered, *host;
	char *heap = malloc(64);

	NEED(cudaMalloc(&pointer, 1u << 20));
	CODE(cudaFree((char *)pointer + 256));
	CODE(cudaFree((char *)pointer + 1));
	CODE(cudaFree(pointer));
	CODE(cudaFree(pointer));
	CODE(cudaFree(here));
	CODE(cudaFree(heap));
	CODE(cudaFree((void *)64));
	CODE(cudaFree((void *)-1));

	NEED(cudaMallocAsync(&ordered, 1u << 20, NULL));
	CODE(cudaFreeAsync((char *)ordered + 256, NULL));
	CODE(cudaFreeAsync(ordered, NULL));
	CODE(cudaFreeAsync(ordered, NULL));
	CODE(cudaFreeAsync(heap, NULL));
	CODE(cudaDeviceSynchronize());
	CODE(cudaFree(ordered));
	NEED(cudaMallocAsync(&ordered, 1u << 20, NULL));
	CODE(cudaFree(ordered));

	NEED(cudaMallocHost(&host, 4096));
	CODE(cudaFree(host));
	CODE(cudaFreeHost(host));
	CODE(cudaFreeHost(host));
	free(heap);
}

static void try_streams(void)
{
	cudaStream_t gone = stream_new();
	void *pointer, *kept;

	NEED(cudaMallocAsync(&kept, 4096, gone));
	NEED(cudaStreamDestroy(gone));
	CODE(cudaMallocAsync(&pointer, 4096, gone));
	CODE(cudaFreeAsync(kept, gone));
	CODE(cudaFree(kept));
	CODE(cudaMallocAsync(&pointer, 4096, (cudaStream_t)64));
	CODE(cudaMallocAsync(&pointer, 4096, cudaStreamPerThread));
	CODE(cudaFreeAsync(pointer, cudaStreamLegacy));
}

/* Memory of a pool that the program made is the driver's own. */
static void try_pools(void)
{
	struct cudaMemPoolProps properties = {
	    .allocType = cudaMemAllocationTypePinned,
	    .location = {.type = cudaMemLocationTypeDevice, .id = 0},
	};
	cudaMemPool_t pool, standard;
	uint64_t used = 0;
	void *pointer, *other;

	CODE(cudaMemPoolCreate(&pool, &properties));
	CODE(cudaMallocFromPoolAsync(&pointer, 1u << 20, pool, NULL));
	CODE(cudaDeviceGetDefaultMemPool(&standard, 0));
	CODE(cudaMallocFromPoolAsync(&other, 1u << 20, standard, NULL));
	CODE(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("used %llu\n", (unsigned long long)used);
	CODE(cudaFreeAsync(other, NULL));
	CODE(cudaFreeAsync(pointer, NULL));
	CODE(cudaDeviceSynchronize());
	CODE(cudaMemPoolTrimTo(standard, 0));
	CODE(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("used %llu\n", (unsigned long long)used);
	CODE(cudaDeviceSetMemPool(0, pool));
	CODE(cudaMallocAsync(&pointer, 1u << 20, NULL));
	CODE(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("used of the new current pool %llu\n", (unsigned long long)used);
	CODE(cudaFreeAsync(pointer, NULL));
	CODE(cudaDeviceSetMemPool(0, standard));
	CODE(cudaMemPoolDestroy(pool));
	CODE(cudaMallocFromPoolAsync(&pointer, 4096, NULL, NULL));
}

int main(void)
{
	kernels_register();
	try_sizes();
	try_frees();
	try_streams();
	try_pools();
	return 0;
}
