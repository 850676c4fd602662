/* Preloaded beside the shim: of the calls that the shim makes to open, write, close, rename and remove files, the
 * FILE_CALL-th one is not made. FILE_HOW says what happens instead: "kill" ends the process by SIGKILL, "short" writes
 * half of it, a number is the errno of a failure. FILE_FIRED names a file that is made when it has happened. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long count;

static bool is_due(const void *caller, bool is_write)
{
	const char *nth = getenv("FILE_CALL"), *how = getenv("FILE_HOW"), *fired = getenv("FILE_FIRED");
	Dl_info info;
	long fd;

	if (nth == NULL || how == NULL || dladdr(caller, &info) == 0 || strstr(info.dli_fname, "libgpushim") == NULL ||
	    ++count != atol(nth))
		return false;
	if (strcmp(how, "short") == 0 && !is_write)
		return false;
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	fd = fired != NULL ? syscall(SYS_open, fired, O_CREAT | O_WRONLY, 0600) : -1;
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = atoi(how);
	return true;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (is_due(__builtin_return_address(0), false))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	if (is_due(__builtin_return_address(0), true)) {
		if (strcmp(getenv("FILE_HOW"), "short") != 0)
			return -1;
		size = (size + 1) / 2;
	}
	return syscall(SYS_write, fd, bytes, size);
}

/* The descriptor is gone all the same, as on Linux. */
int close(int fd)
{
	bool due = is_due(__builtin_return_address(0), false);
	int error = errno;
	long result = syscall(SYS_close, fd);

	if (due)
		errno = error;
	return due ? -1 : (int)result;
}

int rename(const char *from, const char *to)
{
	return is_due(__builtin_return_address(0), false) ? -1 : (int)syscall(SYS_rename, from, to);
}

int unlink(const char *path)
{
	return is_due(__builtin_return_address(0), false) ? -1 : (int)syscall(SYS_unlink, path);
}
