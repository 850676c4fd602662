/* Host pages: see sim_pages.h. */
#include "tests/sim/cuda/sim_pages.h"

#include <sys/mman.h>

size_t sim_pages_round(size_t size_bytes)
{
	return (size_bytes + SIM_PAGE_BYTES - 1) & ~(size_t)(SIM_PAGE_BYTES - 1);
}

uintptr_t sim_pages_map(size_t size_bytes)
{
	size_t whole = sim_pages_round(size_bytes);
	char *start;

	if (whole < size_bytes || whole + SIM_PAGE_BYTES < whole)
		return 0;
	start = mmap(NULL, whole + SIM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
		     -1, 0);
	if (start == MAP_FAILED)
		return 0;
	mprotect(start + whole, SIM_PAGE_BYTES, PROT_NONE);
	return (uintptr_t)start;
}

void sim_pages_unmap(uintptr_t start, size_t size_bytes)
{
	munmap((void *)start, sim_pages_round(size_bytes) + SIM_PAGE_BYTES);
}
