/* See log.h. */
#include "shim/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/base/assert.h"
#include "shim/base/os.h"
#include "shim/base/text.h"

static _Atomic enum gsb_log_level current_level = GSB_LOG_WARN;

void gsb_log_set_level(enum gsb_log_level level)
{
	atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

static void print_line(const char *format, va_list arguments)
{
	char line[GSB_LOG_LINE_BYTES];
	struct gsb_text text;
	int saved_errno = errno, cancel = gsb_os_cancel_hold();

	gsb_text_init(&text, line, sizeof(line) - 1);
	gsb_text_add(&text, "gpushim: ");
	gsb_text_vadd(&text, format, arguments);
	line[text.length++] = '\n';
	while (write(STDERR_FILENO, line, text.length) < 0 && errno == EINTR)
		;
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
