/* Host pages: see sim_pages.h. */
#include "tests/sim/cuda/sim_pages.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* Thousands of handles are normal here and are no descriptors on a real driver: lift the soft limit once. */
static int fd_hide(int fd)
{
	static bool lifted;
	struct rlimit limit;
	int high;

	if (!lifted && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		lifted = true;
	}
	high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, SIM_PAGES_FD_FIRST) : -1;
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int sim_pages_file(size_t size_bytes)
{
	int fd = fd_hide(memfd_create("gpushim-sim", MFD_CLOEXEC));

	if (fd >= 0 && ftruncate(fd, (off_t)size_bytes) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int sim_pages_share(uintptr_t start, size_t size_bytes)
{
	int fd = sim_pages_file(sim_pages_round(size_bytes));

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < size_bytes;) {
		ssize_t wrote = pwrite(fd, (void *)(start + done), size_bytes - done, (off_t)done);

		if (wrote <= 0)
			goto fail;
		done += (size_t)wrote;
	}
	if (mmap((void *)start, sim_pages_round(size_bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

uintptr_t sim_pages_open(int fd, size_t size_bytes)
{
	uintptr_t start = sim_pages_map(size_bytes);

	if (start && mmap((void *)start, sim_pages_round(size_bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  fd, 0) == MAP_FAILED) {
		sim_pages_unmap(start, size_bytes);
		return 0;
	}
	return start;
}
