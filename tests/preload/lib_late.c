/* A library that gives its memory back when it is unloaded at the end of the process, as static objects do. */
#include <stdio.h>

#include <cuda_runtime_api.h>

static void *kept, *kept_async;

void late_keep(void *memory, void *memory_async);
void late_keep(void *memory, void *memory_async)
{
	kept = memory;
	kept_async = memory_async;
}

__attribute__((destructor)) static void give_back(void)
{
	printf("at the end: cudaFree %d", cudaFree(kept));
	printf(", cudaFreeAsync %d\n", cudaFreeAsync(kept_async, NULL));
}
