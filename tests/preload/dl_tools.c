/* Calls cudaMalloc as a program does that is linked to the library argv[1], and says what the tools of
 * lib_tool_malloc.c saw, if they are there. */
#include "tests/preload/own.h"

int main(int argc, char **argv)
{
	int (*alloc)(void **pointer, size_t size_bytes);
	int (*give)(void *pointer);
	unsigned (*tool_mallocs)(void);
	unsigned (*tool_lookups)(void);
	void *pointer = NULL;

	if (argc != 2)
		return 2;
	own_library(argv[1], RTLD_NOW | RTLD_GLOBAL);
	*(void **)&alloc = dlsym(RTLD_DEFAULT, "cudaMalloc");
	*(void **)&give = dlsym(RTLD_DEFAULT, "cudaFree");
	*(void **)&tool_mallocs = dlsym(RTLD_DEFAULT, "tool_mallocs");
	*(void **)&tool_lookups = dlsym(RTLD_DEFAULT, "tool_lookups");
	printf("malloc %d", alloc(&pointer, 64));
	printf(", free %d", give(pointer));
	printf(", tool saw %u mallocs and %s look-ups\n", tool_mallocs != NULL ? tool_mallocs() : 0,
	       tool_lookups != NULL && tool_lookups() >= 4 ? "our" : "no");
	return 0;
}
