/* Leaves memory to lib_late (argv[1]), which frees it after all exit handlers. */
#include "tests/preload/kernel.h"

#include "tests/preload/own.h"

int main(int argc, char **argv)
{
	void (*keep)(void *, void *);
	void *memory, *memory_async;

	if (argc < 2)
		return 2;
	*(void **)&keep = dlsym(own_library(argv[1], RTLD_NOW), "late_keep");
	NEED(cudaMalloc(&memory, 1 << 20));
	NEED(cudaMallocAsync(&memory_async, 1 << 20, NULL));
	keep(memory, memory_async);
	return 0;
}
