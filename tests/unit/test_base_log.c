/* Lines on standard error: one write each, cut and still ended, levels, once-only messages, errno kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"

static int saved_stderr, fds[2];

static int redirect(void **state)
{
	(void)state;
	saved_stderr = dup(STDERR_FILENO);
	return pipe(fds) == 0 && dup2(fds[1], STDERR_FILENO) >= 0 ? 0 : -1;
}

static int restore(void **state)
{
	(void)state;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(fds[0]);
	close(fds[1]);
	gsb_log_set_level(GSB_LOG_WARN);
	return 0;
}

/* What was printed since the last time; a mark behind it tells silence from a missing write. */
static const char *printed(void)
{
	static char text[4096];
	ssize_t length;

	assert_int_equal(write(fds[1], ".", 1), 1);
	length = read(fds[0], text, sizeof(text) - 1);
	assert_true(length >= 1);
	assert_int_equal(text[length - 1], '.');
	text[length - 1] = '\0';
	return text;
}

static void test_levels(void **state)
{
	(void)state;
	errno = EXDEV;
	gsb_log(GSB_LOG_WARN, "%d of %s", 3, "these");
	assert_string_equal(printed(), "gpushim: 3 of these\n");
	gsb_log(GSB_LOG_INFO, "quiet");
	assert_string_equal(printed(), "");
	gsb_log_always("aloud");
	assert_string_equal(printed(), "gpushim: aloud\n");
	gsb_log_set_level(GSB_LOG_DEBUG);
	gsb_log(GSB_LOG_DEBUG, "all");
	assert_string_equal(printed(), "gpushim: all\n");
	gsb_log_set_level(GSB_LOG_ERROR);
	gsb_log(GSB_LOG_WARN, "quiet");
	assert_string_equal(printed(), "");
	assert_int_equal(errno, EXDEV);
}

static void test_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		gsb_log_once(GSB_LOG_WARN, "first %u", i);
	assert_string_equal(printed(), "gpushim: first 0\n");
}

static void test_long_line(void **state)
{
	char longer[2 * GSB_LOG_LINE_BYTES];
	const char *line;

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	gsb_log_always("%s", longer);
	line = printed();
	assert_true(strlen(line) <= GSB_LOG_LINE_BYTES);
	assert_true(strlen(line) >= GSB_LOG_LINE_BYTES - 2);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_levels, redirect, restore),
	    cmocka_unit_test_setup_teardown(test_once, redirect, restore),
	    cmocka_unit_test_setup_teardown(test_long_line, redirect, restore),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
