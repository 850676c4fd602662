/* shim/snap/json_out: escaping, nesting, numbers, and what happens when the file cannot be written. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "shim/base/err.h"
#include "shim/snap/json_out.h"

static char buffer[GS_JSON_MIN_BUFFER];

static int memory_file(void)
{
	int fd = memfd_create("json", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static const char *content(int fd)
{
	static char text[1 << 20];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(length >= 0);
	text[length] = '\0';
	close(fd);
	return text;
}

static void text_is_escaped(void **state)
{
	struct gs_json json;
	int fd = memory_file();

	(void)state;
	gs_json_init(&json, fd, buffer, sizeof(buffer));
	gs_json_array_begin(&json, NULL);
	gs_json_text(&json, NULL, "a\"b\\c\n\t\x01\x1f\x7f/");
	gs_json_text(&json, NULL, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	gs_json_text(&json, NULL, "");
	gs_json_text(&json, NULL, NULL);
	gs_json_array_end(&json);
	assert_int_equal(gs_json_end(&json), 0);
	assert_string_equal(content(fd), "[\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u001f\x7f/\","
					 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\",\"\",null]\n");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
	static const char *const bad[] = {
	    "\xff",	    "\xc0\xaf",		"\xed\xa0\x80",	    "\xe2\x82", "\xf5\x80\x80\x80",
	    "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\x80"};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char expected[64] = "\"<", text[16] = "<";
		struct gs_json json;
		int fd = memory_file();

		for (size_t byte = 0; byte < strlen(bad[i]); byte++)
			strcat(expected, "\xef\xbf\xbd");
		strcat(expected, ">\"\n");
		strcat(strcat(text, bad[i]), ">");
		gs_json_init(&json, fd, buffer, sizeof(buffer));
		gs_json_text(&json, NULL, text);
		assert_int_equal(gs_json_end(&json), 0);
		assert_string_equal(content(fd), expected);
	}
}

static void numbers_are_exact(void **state)
{
	struct gs_json json;
	int fd = memory_file();

	(void)state;
	gs_json_init(&json, fd, buffer, sizeof(buffer));
	gs_json_array_begin(&json, NULL);
	gs_json_count(&json, NULL, 0);
	gs_json_count(&json, NULL, UINT64_MAX);
	gs_json_signed(&json, NULL, INT64_MIN);
	gs_json_signed(&json, NULL, -1);
	gs_json_hex(&json, NULL, 0x7f00deadbeef);
	gs_json_decimal(&json, NULL, 1800000000000000001ull);
	gs_json_fraction(&json, NULL, 0.5);
	gs_json_fraction(&json, NULL, -12.0000005);
	gs_json_fraction(&json, NULL, 1e300);
	gs_json_bool(&json, NULL, true);
	gs_json_bool(&json, NULL, false);
	gs_json_array_end(&json);
	assert_int_equal(gs_json_end(&json), 0);
	assert_string_equal(content(fd), "[0,18446744073709551615,-9223372036854775808,-1,\"7f00deadbeef\","
					 "\"1800000000000000001\",0.500000,-12.000001,null,true,false]\n");
}

static void nesting_and_commas(void **state)
{
	struct gs_json json;
	int fd = memory_file();

	(void)state;
	gs_json_init(&json, fd, buffer, sizeof(buffer));
	gs_json_object_begin(&json, NULL);
	gs_json_array_begin(&json, "a");
	gs_json_object_begin(&json, NULL);
	gs_json_object_end(&json);
	gs_json_array_begin(&json, NULL);
	gs_json_array_end(&json);
	gs_json_array_end(&json);
	gs_json_object_begin(&json, "b");
	gs_json_null(&json, "c");
	gs_json_count(&json, "d", 1);
	gs_json_object_end(&json);
	gs_json_object_end(&json);
	assert_int_equal(gs_json_end(&json), 0);
	assert_string_equal(content(fd), "{\n\"a\":[{},[]],\n\"b\":{\"c\":null,\"d\":1}}\n");
}

static void long_documents_pass_through_a_small_buffer(void **state)
{
	struct gs_json json;
	int fd = memory_file();
	cJSON *parsed;

	(void)state;
	gs_json_init(&json, fd, buffer, sizeof(buffer));
	gs_json_array_begin(&json, NULL);
	for (unsigned i = 0; i < 10000; i++)
		gs_json_text(&json, NULL, "0123456789 \" \xff");
	gs_json_array_end(&json);
	assert_int_equal(gs_json_end(&json), 0);
	assert_int_equal(json.written_bytes, lseek(fd, 0, SEEK_END));
	parsed = cJSON_Parse(content(fd));
	assert_non_null(parsed);
	assert_int_equal(cJSON_GetArraySize(parsed), 10000);
	cJSON_Delete(parsed);
}

static void the_first_error_is_kept(void **state)
{
	struct gs_json json;
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	assert_true(fd >= 0);
	gs_json_init(&json, fd, buffer, sizeof(buffer));
	gs_json_array_begin(&json, NULL);
	for (unsigned i = 0; i < 1000; i++)
		gs_json_count(&json, NULL, i);
	assert_int_equal(json.error, ENOSPC);
	close(fd); /* later writes would be EBADF, and must not be tried */
	gs_json_array_end(&json);
	errno = 77;
	assert_int_equal(gs_json_end(&json), GS_E_IO);
	assert_int_equal(errno, 77);
	assert_int_equal(json.error, ENOSPC);
}

/* Runs wrong in a child and expects the assertion to end it. */
static void expect_abort(void (*wrong)(struct gs_json *json))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct gs_json json;

		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		gs_json_init(&json, -1, buffer, sizeof(buffer));
		wrong(&json);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void key_in_array(struct gs_json *json)
{
	gs_json_array_begin(json, NULL);
	gs_json_count(json, "key", 1);
}

static void no_key_in_object(struct gs_json *json)
{
	gs_json_object_begin(json, NULL);
	gs_json_count(json, NULL, 1);
}

static void wrong_end(struct gs_json *json)
{
	gs_json_object_begin(json, NULL);
	gs_json_array_end(json);
}

static void end_without_begin(struct gs_json *json)
{
	gs_json_object_end(json);
}

static void left_open(struct gs_json *json)
{
	gs_json_object_begin(json, NULL);
	gs_json_end(json);
}

static void too_deep(struct gs_json *json)
{
	for (unsigned i = 0; i <= GS_JSON_MAX_DEPTH; i++)
		gs_json_array_begin(json, NULL);
}

static void second_value(struct gs_json *json)
{
	gs_json_count(json, NULL, 1);
	gs_json_count(json, NULL, 2);
}

static void mistakes_are_asserted(void **state)
{
	(void)state;
	expect_abort(key_in_array);
	expect_abort(no_key_in_object);
	expect_abort(wrong_end);
	expect_abort(end_without_begin);
	expect_abort(left_open);
	expect_abort(too_deep);
	expect_abort(second_value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_escaped),
	    cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
	    cmocka_unit_test(numbers_are_exact),
	    cmocka_unit_test(nesting_and_commas),
	    cmocka_unit_test(long_documents_pass_through_a_small_buffer),
	    cmocka_unit_test(the_first_error_is_kept),
	    cmocka_unit_test(mistakes_are_asserted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
