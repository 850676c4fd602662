/* What a program may ask of a pointer, for memory of each kind: prints the answers, with addresses relative to the
 * block. The output must be the same with the shim (H30, H32). Not asked is what tells of the mapping below a block,
 * which is another one by design. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20)

static CUcontext context;
static CUmemoryPool pool;

/* clang-format off */
#define ATTRIBUTES(X)                                                                                                  \
	X(CONTEXT) X(MEMORY_TYPE) X(DEVICE_POINTER) X(HOST_POINTER) X(SYNC_MEMOPS) X(IS_MANAGED) X(DEVICE_ORDINAL)     \
	X(IS_LEGACY_CUDA_IPC_CAPABLE) X(RANGE_START_ADDR) X(RANGE_SIZE) X(MAPPED) X(ALLOWED_HANDLE_TYPES)              \
	X(ACCESS_FLAGS) X(MEMPOOL_HANDLE)
/* clang-format on */

static void print_value(const char *name, CUresult result, uint64_t value, CUdeviceptr block, size_t size_bytes)
{
	printf("  %s %d ", name, result);
	if (value >= block && value < block + size_bytes)
		printf("block + %llu\n", (unsigned long long)(value - block));
	else if (value == (uint64_t)(uintptr_t)context)
		printf("the context\n");
	else if (value == (uint64_t)(uintptr_t)pool)
		printf("the pool\n");
	else
		printf("%llu\n", (unsigned long long)value);
}

static void ask(CUdeviceptr pointer, CUdeviceptr block, size_t size_bytes)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	CUresult result;
	uint64_t value;

	printf(" at block + %llu\n", (unsigned long long)(pointer - block));
	result = cuMemGetAddressRange_v2(&base, &size, pointer);
	print_value("range base", result, base, block, size_bytes);
	print_value("range size", result, size, 0, 0);
	print_value("base alone", cuMemGetAddressRange_v2(&base, NULL, pointer), base, block, size_bytes);
#define ASK(name)                                                                                                      \
	value = 0;                                                                                                     \
	result = cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_##name, pointer);                                  \
	print_value(#name, result, value, block, size_bytes);
	ATTRIBUTES(ASK)
#undef ASK
}

/* All at once, as the runtime asks. */
static void ask_together(CUdeviceptr pointer, CUdeviceptr block, size_t size_bytes)
{
#define ONE(name) CU_POINTER_ATTRIBUTE_##name,
	CUpointer_attribute attributes[] = {ATTRIBUTES(ONE)};
#undef ONE
#define ONE(name) #name,
	static const char *const names[] = {ATTRIBUTES(ONE)};
#undef ONE
	enum { COUNT = sizeof(attributes) / sizeof(attributes[0]) };
	uint64_t values[COUNT] = {0};
	void *data[COUNT];
	CUresult result;

	for (unsigned i = 0; i < COUNT; i++)
		data[i] = &values[i];
	result = cuPointerGetAttributes(COUNT, attributes, data, pointer);
	printf(" together\n");
	for (unsigned i = 0; i < COUNT; i++)
		print_value(names[i], result, values[i], block, size_bytes);
}

static uint64_t buffer_id(CUdeviceptr pointer)
{
	unsigned long long id = 0;

	if (cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer) != CUDA_SUCCESS)
		printf("no buffer id\n");
	return id;
}

/* What is for memory of other kinds: mapped, managed. */
static void refused(CUdeviceptr block)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUmemAccessDesc access = {.location = here, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUdeviceptr start = block & ~(CUdeviceptr)(GRANULE - 1);
	CUmemGenericAllocationHandle handle, mine;
	unsigned long long flags = 0;

	printf(" refused: retain %d", cuMemRetainAllocationHandle(&handle, (void *)block));
	printf(", unmap %d %d", cuMemUnmap(start, GRANULE), cuMemUnmap(block, GRANULE));
	printf(", give addresses back %d", cuMemAddressFree(start, GRANULE));
	printf(", set access %d", cuMemSetAccess(start, GRANULE, &access, 1));
	printf(", get access %d", cuMemGetAccess(&flags, &here, block));
	printf(" of %llu", flags);
	if (cuMemCreate(&mine, GRANULE, &properties, 0) == CUDA_SUCCESS) {
		printf(", map %d", cuMemMap(start, GRANULE, 0, mine, 0));
		cuMemRelease(mine);
	}
	printf(", prefetch %d", cuMemPrefetchAsync_v2(block, 512, here, 0, NULL));
	printf(", advise %d", cuMemAdvise_v2(block, 512, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	printf(", attach %d", cuStreamAttachMemAsync(NULL, block, 0, CU_MEM_ATTACH_GLOBAL));
	printf(", register %d", cuMemHostRegister_v2((void *)block, 4096, 0));
	printf(", host's %d\n", cuMemFreeHost((void *)block));
}

/* A descriptor for others keeps the memory, so after the free nobody else may have it (H12). */
static void descriptor(CUdeviceptr block, size_t size_bytes)
{
	CUdeviceptr later[8];
	unsigned char *seen;
	int fd = -1, none, error;

	cuMemsetD8_v2(block, 7, size_bytes);
	cuCtxSynchronize();
	error = cuMemGetHandleForAddressRange(&fd, block, size_bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
	printf("descriptor %d, beyond the end %d", error,
	       cuMemGetHandleForAddressRange(&none, block, size_bytes + (64u << 20), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
					     0));
	cuMemFree_v2(block);
	for (unsigned i = 0; i < 8; i++) {
		cuMemAlloc_v2(&later[i], size_bytes);
		cuMemsetD8_v2(later[i], 9, size_bytes);
	}
	cuCtxSynchronize();
	seen = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
	printf(", then in it: %d\n", seen != MAP_FAILED ? seen[4096] : -1);
	for (unsigned i = 0; i < 8; i++)
		cuMemFree_v2(later[i]);
	close(fd);
}

static void ask_all(const char *kind, CUdeviceptr block, size_t size_bytes)
{
	printf("%s of %zu bytes\n", kind, size_bytes);
	ask(block, block, size_bytes);
	ask(block + size_bytes - 1, block, size_bytes);
	ask_together(block + size_bytes / 2, block, size_bytes);
	refused(block);
}

int main(void)
{
	static const size_t sizes[] = {1000, 1u << 20, 5u << 20};
	CUdeviceptr block, again;
	uint64_t id, later;
	unsigned on = 1;
	CUdevice device;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS ||
	    cuDeviceGetDefaultMemPool(&pool, device) != CUDA_SUCCESS)
		return 1;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (cuMemAlloc_v2(&block, sizes[i]) != CUDA_SUCCESS)
			return 1;
		ask_all("cuMemAlloc", block, sizes[i]);
		id = buffer_id(block);
		if (cuMemFree_v2(block) != CUDA_SUCCESS)
			return 1;
		printf("freed: set %d\n", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block));
		if (cuMemAlloc_v2(&again, sizes[i]) != CUDA_SUCCESS)
			return 1;
		later = buffer_id(again);
		printf("a new allocation has %s buffer id\n", id != later ? "a new" : "the same");
		cuMemFree_v2(again);

		if (cuMemAllocAsync(&block, sizes[i], NULL) != CUDA_SUCCESS)
			return 1;
		ask_all("cuMemAllocAsync", block, sizes[i]);
		cuMemFreeAsync(block, NULL);
	}
	if (cuMemAlloc_v2(&block, 2 * GRANULE) != CUDA_SUCCESS)
		return 1;
	descriptor(block, 2 * GRANULE);
	printf("nothing: %d", cuMemGetAddressRange_v2(&block, NULL, 64));
	printf(" %d\n", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, 64));
	printf("destroy %d\n", cuCtxDestroy_v2(context));
	return 0;
}
