/* Stands between gsb_os_pages_map and the kernel: how many bytes are mapped, and none to be had when a test says so. For one file of a
 * program. */
#ifndef TESTS_PAGES_H
#define TESTS_PAGES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t mapped_bytes;
static bool no_pages;

/* In place of the C library's. */
void *mmap(void *address, size_t size_bytes, int protection, int flags, int file, off_t offset)
{
	if (no_pages) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	mapped_bytes += size_bytes;
	return (void *)syscall(SYS_mmap, address, size_bytes, protection, flags, file, offset);
}

int munmap(void *address, size_t size_bytes)
{
	mapped_bytes -= size_bytes;
	return (int)syscall(SYS_munmap, address, size_bytes);
}

#endif
