/* Pinned host memory, one situation each, named by argv[1]; prints what the program sees. */
#include <string.h>

#include <cuda.h>

#include "tests/preload/kernel.h"

enum { WORDS = 1 << 20 };

static const size_t size_bytes = WORDS * sizeof(uint32_t);
static uint32_t *errors;

static void set_words(uint32_t *words, uint32_t value)
{
	for (int i = 0; i < WORDS; i++)
		words[i] = value;
}

static unsigned differ(const uint32_t *words, uint32_t value)
{
	unsigned count = 0;

	for (int i = 0; i < WORDS; i++)
		count += words[i] != value;
	return count;
}

/* A kernel still reads what is freed; the host writes what it gets instead. */
static void still_read(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *again;

	NEED(cudaMallocHost((void **)&words, size_bytes));
	set_words(words, 1);
	kernel_delay(50, stream);
	kernel_verify(words, 1, WORDS, errors, stream);
	NEED(cudaFreeHost(words));
	NEED(cudaMallocHost((void **)&again, size_bytes));
	set_words(again, 2);
	NEED(cudaStreamSynchronize(stream));
	printf("%u words wrong\n", errors_read(errors));
	NEED(cudaFreeHost(again));
}

/* A copy still writes what is freed, on another device than the one that is current then. */
static void still_written(void)
{
	cudaStream_t stream;
	uint32_t *words, *again, *source;
	int devices;

	NEED(cudaGetDeviceCount(&devices));
	NEED(cudaHostAlloc((void **)&words, size_bytes, cudaHostAllocPortable));
	NEED(cudaSetDevice(devices - 1));
	stream = stream_new();
	NEED(cudaMalloc((void **)&source, size_bytes));
	NEED(cudaMemset(source, 3, size_bytes));
	kernel_delay(50, stream);
	NEED(cudaMemcpyAsync(words, source, size_bytes, cudaMemcpyDeviceToHost, stream));
	NEED(cudaSetDevice(0));
	NEED(cudaFreeHost(words));
	NEED(cudaHostAlloc((void **)&again, size_bytes, cudaHostAllocPortable));
	set_words(again, 5);
	NEED(cudaSetDevice(devices - 1));
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaSetDevice(0));
	printf("%u words wrong\n", differ(again, 5));
	NEED(cudaFreeHost(again));
}

/* As cudaFree: a free waits for copies to the host, of other memory too (H4). */
static void free_waits(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *other, *source;

	NEED(cudaMallocHost((void **)&words, size_bytes));
	NEED(cudaMallocHost((void **)&other, size_bytes));
	NEED(cudaMalloc((void **)&source, size_bytes));
	set_words(words, 0);
	NEED(cudaMemset(source, 3, size_bytes));
	kernel_delay(50, stream);
	NEED(cudaMemcpyAsync(words, source, size_bytes, cudaMemcpyDeviceToHost, stream));
	NEED(cudaFreeHost(other));
	printf("%u words wrong\n", differ(words, 0x03030303));
	NEED(cudaFreeHost(words));
}

/* Likewise for what a kernel writes. */
static void free_waits_for_kernels(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *other;

	NEED(cudaMallocHost((void **)&words, size_bytes));
	NEED(cudaMallocHost((void **)&other, size_bytes));
	set_words(words, 0);
	kernel_delay(50, stream);
	kernel_fill(words, 7, WORDS, stream);
	NEED(cudaFreeHost(other));
	printf("%u words wrong\n", differ(words, 7));
	NEED(cudaFreeHost(words));
}

/* Twenty pairs; says how many got the memory of the one before. */
static void pairs(void)
{
	unsigned same = 0;
	void *memory, *before = NULL;

	for (int i = 0; i < 20; i++) {
		NEED(cudaHostAlloc(&memory, size_bytes - (size_t)i, i % 2 != 0 ? cudaHostAllocWriteCombined : 0));
		same += i > 1 && memory == before;
		NEED(cudaFreeHost(memory));
		NEED(cudaHostAlloc(&before, size_bytes, i % 2 == 0 ? cudaHostAllocWriteCombined : 0));
		NEED(cudaFreeHost(before));
	}
	printf("%u of 18\n", same);
}

/* Freed twice, freed in the middle, freed by another name. */
static void refused(void)
{
	char *memory;
	unsigned flags;
	void *pointer;

	NEED(cudaMallocHost((void **)&memory, size_bytes));
	printf("middle %d, cudaFree %d, unregister %d\n", cudaFreeHost(memory + 512), cudaFree(memory),
	       cudaHostUnregister(memory));
	NEED(cudaFreeHost(memory));
	printf("twice %d, middle %d, cudaFree %d, unregister %d\n", cudaFreeHost(memory), cudaFreeHost(memory + 512),
	       cudaFree(memory), cudaHostUnregister(memory));
	printf("flags %d, pointer %d, nothing %d\n", cudaHostGetFlags(&flags, memory),
	       cudaHostGetDevicePointer(&pointer, memory, 0), cudaFreeHost(NULL));
	(void)cudaGetLastError();
}

/* The device is reset with memory live and freed. */
static void reset(void)
{
	void *live, *freed, *again;

	NEED(cudaMallocHost(&live, size_bytes));
	NEED(cudaMallocHost(&freed, size_bytes));
	NEED(cudaFreeHost(freed));
	NEED(cudaDeviceReset());
	NEED(cudaMallocHost(&again, size_bytes));
	memset(again, 1, size_bytes);
	NEED(cudaFreeHost(again));
	NEED(cudaMallocHost(&again, 2 * size_bytes));
	memset(again, 1, 2 * size_bytes);
	NEED(cudaFreeHost(again));
	printf("done\n");
}

/* A library holds the device's context for a moment: it goes on, and with it what is kept. */
static void retained(void)
{
	CUresult (*retain)(CUcontext *, CUdevice), (*release)(CUdevice);
	enum cudaDriverEntryPointQueryResult found;
	void *memory, *before;
	unsigned same = 0;
	CUcontext context;

	NEED(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxRetain", (void **)&retain, 12000, cudaEnableDefault, &found));
	NEED(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxRelease", (void **)&release, 12000, cudaEnableDefault,
					      &found));
	NEED(cudaMallocHost(&before, size_bytes));
	for (int i = 0; i < 20; i++) {
		NEED(cudaFreeHost(before));
		if (retain(&context, 0) != CUDA_SUCCESS || release(0) != CUDA_SUCCESS)
			printf("the context cannot be held\n");
		NEED(cudaMallocHost(&memory, size_bytes));
		same += memory == before;
		before = memory;
	}
	printf("%u of 20\n", same);
}

/* What the driver refuses may be there once nothing is kept. */
static void asked_again(void)
{
	void *memory, *refused;

	for (int i = 0; i < 2; i++) {
		NEED(cudaHostAlloc(&memory, size_bytes, 0));
		NEED(cudaFreeHost(memory));
		printf("larger %d, ", cudaHostAlloc(&refused, 2 * size_bytes, 0));
		(void)cudaGetLastError();
	}
	printf("done\n");
}

static const struct {
	const char *name;
	void (*run)(void);
} situations[] = {
    {"still-read", still_read}, {"still-written", still_written}, {"free-waits", free_waits},
    {"pairs", pairs},		{"refused", refused},		  {"reset", reset},
    {"free-waits-for-kernels", free_waits_for_kernels}, {"retained", retained}, {"asked-again", asked_again},
};

int main(int argc, char **argv)
{
	kernels_register();
	NEED(cudaFree(NULL));
	errors = errors_new();
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++)
		if (argc == 2 && strcmp(argv[1], situations[i].name) == 0)
			situations[i].run();
	return 0;
}
