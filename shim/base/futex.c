/* See futex.h. */
#include "shim/base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/escape.h"
#include "shim/base/os.h"

void gsb_futex_wait(const _Atomic uint32_t *word, uint32_t value, uint64_t at_most_ns)
{
	const struct timespec at_most = {
		.tv_sec = (time_t)(at_most_ns / 1000000000u),
		.tv_nsec = (long)(at_most_ns % 1000000000u),
	};
	bool may_escape = gsb_escape_possible();
	uint64_t start_ns = may_escape ? gsb_os_now_ns() : 0;
	int saved_errno = errno;

	syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, &at_most, NULL, 0);
	errno = saved_errno;
	if (may_escape)
		gsb_escape_look(gsb_os_now_ns() - start_ns);
}

void gsb_futex_wake(const _Atomic uint32_t *word, int count)
{
	int saved_errno = errno;

	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
	errno = saved_errno;
}
