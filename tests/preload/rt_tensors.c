/* Plays a PyTorch program on stand-ins of its libraries (argv[1]: libc10, argv[2]: libc10_cuda): two segments, tensors
 * of known sizes in them by both manglings of the report, some of them freed. Prints what the real function heard. */
#include "tests/preload/kernel.h"
#include "tests/preload/own.h"

enum { TENSORS = 30 };

struct c10_heard {
	unsigned long calls;
	uint64_t mixed;
};

static void *(*segment_new)(size_t size_bytes);
static int (*segment_free)(void *segment);
static void (*report)(int is_signed, void *pointer, int64_t size, size_t allocated, size_t reserved);

static int64_t tensor_bytes(unsigned number)
{
	return 512 * (number + 1);
}

int main(int argc, char **argv)
{
	size_t allocated = 0, free_before, free_after, total;
	char *segment, *spare;
	struct c10_heard *heard;
	void *c10, *c10_cuda;

	if (argc != 3)
		return 2;
	c10 = own_library(argv[1], RTLD_NOW | RTLD_GLOBAL);
	c10_cuda = own_library(argv[2], RTLD_NOW | RTLD_LOCAL);
	heard = dlsym(c10, "c10_heard");
	*(void **)&segment_new = dlsym(c10_cuda, "torch_segment");
	*(void **)&segment_free = dlsym(c10_cuda, "torch_segment_free");
	*(void **)&report = dlsym(c10_cuda, "torch_report");

	segment = segment_new(2u << 20);
	NEED(cudaMemGetInfo(&free_before, &total));
	spare = segment_new(20u << 20);
	for (unsigned i = 0; i < TENSORS; i++) {
		allocated += (size_t)tensor_bytes(i);
		report(i % 2 == 1, segment + i * 32768, tensor_bytes(i), allocated, 22u << 20);
	}
	for (unsigned i = 0; i < TENSORS; i += 3) {
		allocated -= (size_t)tensor_bytes(i);
		report(i % 2 == 1, segment + i * 32768, -tensor_bytes(i), allocated, 22u << 20);
	}
	printf("segment freed: %d\n", segment_free(spare));
	NEED(cudaMemGetInfo(&free_after, &total));
	printf("its memory is back: %s\n", free_before == free_after ? "yes" : "no");
	printf("%zu bytes live\n", allocated);
	printf("heard %lu %llx, %lu %llx\n", heard[0].calls, (unsigned long long)heard[0].mixed, heard[1].calls,
	       (unsigned long long)heard[1].mixed);
	return 0;
}
