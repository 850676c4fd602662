/* See os.h. */
#include "shim/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/lock.h"

static size_t whole_pages(size_t size_bytes)
{
	return (size_bytes + GSB_PAGE_BYTES - 1) & ~(size_t)(GSB_PAGE_BYTES - 1);
}

void *gsb_os_pages_map(size_t size_bytes)
{
	int saved_errno = errno;
	void *pages;

	if (gsb_fault(GSB_FAULT_PAGES))
		return NULL;
	pages = mmap(NULL, whole_pages(size_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved_errno;
	return pages == MAP_FAILED ? NULL : pages;
}

void gsb_os_pages_prefer_large(void *pages, size_t size_bytes)
{
	int saved_errno = errno;

	madvise(pages, whole_pages(size_bytes), MADV_HUGEPAGE);
	errno = saved_errno;
}

void gsb_os_pages_unmap(void *pages, size_t size_bytes)
{
	int saved_errno = errno;

	munmap(pages, whole_pages(size_bytes));
	errno = saved_errno;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t gsb_os_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t gsb_os_now_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t gsb_os_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint32_t gsb_os_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* The system reads the set of signals before it finds that it is not told what to do with it. */
bool gsb_os_is_readable(const void *address)
{
	int saved_errno = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;

	errno = saved_errno;
	return readable;
}

int gsb_os_cancel_hold(void)
{
	int state = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

void gsb_os_cancel_restore(int state)
{
	pthread_setcancelstate(state, NULL);
}

void gsb_os_write_signals_hold(struct gsb_os_held_signals *held)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};
	sigset_t both, pending;

	sigemptyset(&pending);
	sigemptyset(&both);
	sigaddset(&both, SIGPIPE);
	sigaddset(&both, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &both, &held->before);
	sigpending(&pending);
	sigemptyset(&held->raised);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigismember(&pending, numbers[i]) == 0)
			sigaddset(&held->raised, numbers[i]);
}

void gsb_os_write_signals_restore(const struct gsb_os_held_signals *held)
{
	int saved_errno = errno;

	while (sigtimedwait(&held->raised, NULL, &(struct timespec){0}) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
	errno = saved_errno;
}

/* The bare call is no cancellation point. */
void gsb_os_nap(void)
{
	int saved_errno = errno;

	gsb_debug_assert(gsb_lock_none());
	syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 20000}, NULL);
	errno = saved_errno;
}

long gsb_os_read_file(const char *path, char *text, size_t capacity)
{
	int saved_errno = errno, cancel = gsb_os_cancel_hold();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = fd < 0 ? -1 : 0;

	while (fd >= 0 && length + 1 < capacity) {
		got = read(fd, text + length, capacity - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	gsb_os_cancel_restore(cancel);
	errno = saved_errno;
	if (got < 0)
		return GS_E_IO;
	text[length] = '\0';
	return (long)length;
}
