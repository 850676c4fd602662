/* Another tool that people preload: stands in front of cudaMalloc and dlsym, counts, and lets the next one do it. */
#include "tests/preload/own.h"

int cudaMalloc(void **pointer, size_t size_bytes);
unsigned tool_mallocs(void);
unsigned tool_lookups(void);

static unsigned mallocs, lookups;

unsigned tool_mallocs(void)
{
	return mallocs;
}

unsigned tool_lookups(void)
{
	return lookups;
}

int cudaMalloc(void **pointer, size_t size_bytes)
{
	static int (*next)(void **pointer, size_t size_bytes);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
	if (next == cudaMalloc || ++mallocs > 100)
		abort();
	return next(pointer, size_bytes);
}

void *dlsym(void *handle, const char *name)
{
	static own_dlsym_fn *next;

	if (next == NULL)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	lookups++;
	return next(handle, name);
}
