/* What a program should not ask for, one kind a scenario, by legacy and stream-ordered calls: prints every code. After each
 * kind a neighbour must be as it was and the memory in use too. rt_bad_input.c and drv_bad_input.c say how the calls are
 * made: bad_malloc, bad_free, bad_malloc_async, bad_free_async give a code, and the driver's names of all others. */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOUR_BYTES 70000u

static CUdeviceptr neighbour;

static void must(int code, const char *what)
{
	if (code == 0)
		return;
	printf("%s: %d\n", what, code);
	exit(1);
}

#define MUST(call) must((int)(call), #call)

static CUdeviceptr taken(size_t size_bytes)
{
	CUdeviceptr block;

	MUST(bad_malloc(&block, size_bytes));
	return block;
}

static CUdeviceptr taken_async(size_t size_bytes, CUstream stream)
{
	CUdeviceptr block;

	MUST(bad_malloc_async(&block, size_bytes, stream));
	return block;
}

static void foreign(void)
{
	static char global[64];
	char *heap = malloc(64);
	void *pinned;

	MUST(cuMemAllocHost_v2(&pinned, 4096));
	printf("free: global %d, heap %d, low %d, high %d, pinned %d\n", bad_free((CUdeviceptr)(uintptr_t)global),
	       bad_free((CUdeviceptr)(uintptr_t)heap), bad_free(64), bad_free((CUdeviceptr)-4096),
	       bad_free((CUdeviceptr)(uintptr_t)pinned));
	printf("free async: global %d, heap %d, low %d, high %d, pinned %d\n",
	       bad_free_async((CUdeviceptr)(uintptr_t)global, NULL), bad_free_async((CUdeviceptr)(uintptr_t)heap, NULL),
	       bad_free_async(64, NULL), bad_free_async((CUdeviceptr)-4096, NULL),
	       bad_free_async((CUdeviceptr)(uintptr_t)pinned, NULL));
	MUST(cuMemFreeHost(pinned));
	free(heap);
}

static void twice(void)
{
	static const size_t sizes[] = {100, 3u << 20};

	for (unsigned i = 0; i < 2; i++) {
		CUdeviceptr legacy = taken(sizes[i]), ordered = taken_async(sizes[i], NULL);

		printf("free %d", bad_free(legacy));
		printf(" %d", bad_free(legacy));
		printf(", free async %d", bad_free_async(ordered, NULL));
		printf(" %d", bad_free_async(ordered, NULL));
		legacy = taken(sizes[i]);
		ordered = taken_async(sizes[i], NULL);
		printf(", crosswise %d", bad_free_async(legacy, NULL));
		printf(" %d", bad_free(ordered));
		MUST(cuCtxSynchronize());
		printf(", and again %d %d\n", bad_free(legacy), bad_free_async(ordered, NULL));
	}
}

static void interior(void)
{
	static const size_t offsets[] = {1, 256, 512, 65536, 2u << 20};

	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		CUdeviceptr legacy = taken(3u << 20), ordered = taken_async(3u << 20, NULL);

		printf("at %zu: %d %d, async %d\n", offsets[i], bad_free(legacy + offsets[i]),
		       bad_free_async(legacy + offsets[i], NULL), bad_free_async(ordered + offsets[i], NULL));
		MUST(bad_free_async(ordered, NULL));
		MUST(bad_free(legacy));
	}
}

static void sizes(void)
{
	size_t free_bytes, total_bytes, wrong[4];
	CUdeviceptr block = 1;

	MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	wrong[0] = total_bytes + 1;
	wrong[1] = (size_t)1 << 60;
	wrong[2] = (size_t)-1;
	wrong[3] = (size_t)-512;
	printf("0: %d", bad_malloc(&block, 0));
	printf(" %d\n", bad_malloc_async(&block, 0, NULL));
	for (unsigned i = 0; i < 4; i++) {
		printf("too large: %d", bad_malloc(&block, wrong[i]));
		printf(" %d\n", bad_malloc_async(&block, wrong[i], NULL));
	}
	printf("nowhere: %d %d\n", bad_malloc(NULL, 512), bad_malloc_async(NULL, 512, NULL));
	printf("afterwards: %d\n", bad_free(taken(free_bytes / 2)));
}

static void streams(void)
{
	CUstream gone;
	CUdeviceptr block, kept;

	MUST(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
	kept = taken_async(4096, gone);
	MUST(cuStreamDestroy_v2(gone));
	printf("destroyed: %d %d", bad_malloc_async(&block, 4096, gone), bad_free_async(kept, gone));
	printf(", elsewhere %d\n", bad_free_async(kept, NULL));
}

/* A stream of the second device, with the first one's context current. */
static void devices(void)
{
	CUdeviceptr block, mine = taken_async(4096, NULL), legacy = taken(4096);
	CUstream there;

	bad_use_device(1);
	MUST(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
	printf("free with the other device current: %d %d\n", bad_free(legacy), bad_free_async(mine, NULL));
	bad_use_device(0);
	printf("on a stream of another device: %d", bad_malloc_async(&block, 4096, there));
	printf(", memory of device %d, free %d", bad_device_of(block), bad_free_async(block, there));
	mine = taken_async(4096, NULL);
	printf(", free of memory of this one %d\n", bad_free_async(mine, there));
	bad_use_device(1);
	MUST(cuStreamSynchronize(there));
	MUST(cuStreamDestroy_v2(there));
	bad_use_device(0);
}

static void disturbed(size_t free_before)
{
	unsigned char bytes[NEIGHBOUR_BYTES];
	size_t free_bytes, total_bytes, wrong = 0;

	MUST(cuCtxSynchronize());
	MUST(cuMemcpyDtoH_v2(bytes, neighbour, NEIGHBOUR_BYTES));
	for (unsigned i = 0; i < NEIGHBOUR_BYTES; i++)
		wrong += bytes[i] != 0x5a;
	MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("%zu bytes of the neighbour wrong, memory in use %s\n", wrong,
	       free_bytes + (4u << 20) >= free_before ? "as before" : "is more");
	printf("free of the neighbour %d\n", bad_free(neighbour));
}

static int bad_input(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {{"foreign", foreign}, {"twice", twice},     {"interior", interior},
			 {"sizes", sizes},     {"streams", streams}, {"devices", devices}};
	size_t free_bytes, total_bytes;

	neighbour = taken(NEIGHBOUR_BYTES);
	MUST(cuMemsetD8_v2(neighbour, 0x5a, NEIGHBOUR_BYTES));
	MUST(cuCtxSynchronize());
	MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	for (unsigned i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		scenarios[i].run();
		disturbed(free_bytes);
		return 0;
	}
	return 2;
}

#endif
