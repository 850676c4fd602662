/* What a fuzz target is: one function that takes any bytes, and must neither crash nor break a property it asserts.
 *
 * With clang it is linked to libFuzzer (`make fuzz`); otherwise to mutate.c, which has a small engine of its own. */
#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);          \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* For readers that want a file: its path lives until the next call. */
static inline const char *target_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", 0);
	HOLDS(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* What the code under test prints goes nowhere; a sanitizer writes to the descriptor. */
static inline void target_quiet(void)
{
	if (fileno(stderr) == STDERR_FILENO)
		stderr = fopen("/dev/null", "w");
}

#endif
