/* See log.h. */
#include "shim/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/os.h"
#include "shim/base/text.h"

static _Atomic enum gsb_log_level current_level = GSB_LOG_WARN;

void gsb_log_set_level(enum gsb_log_level level)
{
	atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

static struct stat stderr_at_load;
static bool load_seen, had_stderr;

void gsb_log_init(void)
{
	int saved_errno = errno;

	had_stderr = fstat(STDERR_FILENO, &stderr_at_load) == 0;
	load_seen = true;
	errno = saved_errno;
}

/* A program that closes stderr, or was started without it, gets its number for the next file or pipe it opens. What is put
 * there on purpose stays open for programs that are started; and logs, opened to append, are told apart from data. */
static bool stderr_is_for_us(void)
{
	struct stat now;

	if (!load_seen)
		return true;
	if (fstat(STDERR_FILENO, &now) != 0)
		return false;
	if (now.st_dev == stderr_at_load.st_dev && now.st_ino == stderr_at_load.st_ino)
		return true;
	if ((fcntl(STDERR_FILENO, F_GETFD) & FD_CLOEXEC) != 0)
		return false;
	if (S_ISREG(now.st_mode))
		return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
	return S_ISCHR(now.st_mode) || (S_ISFIFO(now.st_mode) && had_stderr);
}

static void print_line(const char *format, va_list arguments)
{
	char line[GSB_LOG_LINE_BYTES];
	struct gsb_text text;
	struct gsb_os_held_signals held;
	int saved_errno = errno, cancel = gsb_os_cancel_hold();

	gsb_text_init(&text, line, sizeof(line) - 1);
	gsb_text_add(&text, "gpushim: ");
	gsb_text_vadd(&text, format, arguments);
	line[text.length++] = '\n';
	gsb_os_write_signals_hold(&held);
	while (stderr_is_for_us() && write(STDERR_FILENO, line, text.length) < 0 && errno == EINTR)
		;
	gsb_os_write_signals_restore(&held);
	gsb_os_cancel_restore(cancel);
	errno = saved_errno;
}

void gsb_log(enum gsb_log_level level, const char *format, ...)
{
	va_list arguments;

	if (level > atomic_load_explicit(&current_level, memory_order_relaxed))
		return;
	va_start(arguments, format);
	print_line(format, arguments);
	va_end(arguments);
}

void gsb_log_always(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line(format, arguments);
	va_end(arguments);
}

void gsb_assert_failed(const char *condition, const char *file, int line)
{
	gsb_log_always("internal error, please report: %s:%d: %s", file, line, condition);
	abort();
}
