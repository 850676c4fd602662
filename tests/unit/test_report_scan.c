/* report/scan: what is JSON and what is not, exact numbers, decoded strings, and the place of the first mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/scan.c"

/* 0 when the whole text is one value, else 1 + the byte of the mistake. */
static size_t mistake_in(const char *text)
{
	struct gsr_scan scan;
	const char *start;

	gsr_scan_init(&scan, text, strlen(text));
	if (gsr_scan_skip(&scan, &start) != 0)
		return 1 + scan.error_at;
	gsr_scan_peek(&scan);
	return scan.at == scan.end ? 0 : 1 + (size_t)(scan.at - scan.start);
}

static void values_are_accepted(void **state)
{
	static const char *const good[] = {
	    "0",    "-0",   "12",	   "-1.5e+10", "1E9", "0.25", "\"\"",	    "\"a\\u00e9\\n\\\\\"",
	    "true", "null", " [ 1 , 2 ] ", "[]",       "{}",  "[[]]", "{\"a\":{}}", "{\"a\":1,\"a\":[false]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(mistake_in(good[i]), 0);
}

static void mistakes_have_a_place(void **state)
{
	static const struct {
		const char *text;
		size_t at;
	} bad[] = {
	    {"", 0},	  {"[1,]", 3},	    {"[1 2]", 3},    {"[", 1},		 {"{\"a\" 1}", 5},   {"{\"a\":}", 5},
	    {"{1:2}", 1}, {"tru", 0},	    {"nul", 0},	     {"+1", 0},		 {"-", 1},	     {"1.", 2},
	    {"1e", 2},	  {"01", 1},	    {"\"a", 2},	     {"\"\\q\"", 1},	 {"\"\x01\"", 1},    {"\"\\u12\"", 5},
	    {"[1}", 2},	  {"{\"a\":1]", 6}, {"\"\xff\"", 1}, {"\"\\ud800\"", 1}, {"\"\\udc00\"", 1}, {"1 2", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(mistake_in(bad[i].text), 1 + bad[i].at);
}

static void depth_is_bounded(void **state)
{
	char text[2 * GSR_SCAN_DEPTH + 3];

	(void)state;
	memset(text, '[', GSR_SCAN_DEPTH);
	memset(text + GSR_SCAN_DEPTH, ']', GSR_SCAN_DEPTH);
	text[2 * GSR_SCAN_DEPTH] = '\0';
	assert_int_equal(mistake_in(text), 0);
	memset(text, '[', GSR_SCAN_DEPTH + 1);
	assert_int_equal(mistake_in(text), 1 + GSR_SCAN_DEPTH);
}

static void numbers_are_exact(void **state)
{
	const char *text = "9007199254740992 9007199254740993 -9007199254740992 \"ffffffffffffffff\" \"g\" \"\" 1.5";
	struct gsr_scan scan;
	uint64_t count = 0;
	int64_t value = 0;

	(void)state;
	gsr_scan_init(&scan, text, strlen(text));
	assert_int_equal(gsr_scan_count(&scan, &count), 0);
	assert_true(count == 1ull << 53);
	assert_int_equal(gsr_scan_count(&scan, &count), GS_E_INVALID);
	assert_string_equal(scan.error, "a number is too large");
	assert_int_equal(scan.error_at, 17);
	assert_true(count == 1ull << 53);
	scan.at = text + 34;
	assert_int_equal(gsr_scan_signed(&scan, &value), 0);
	assert_true(value == -(1ll << 53));
	assert_int_equal(gsr_scan_hex(&scan, &count), 0);
	assert_true(count == UINT64_MAX);
	assert_int_equal(gsr_scan_hex(&scan, &count), GS_E_INVALID);
	scan.at = text + 74;
	assert_int_equal(gsr_scan_hex(&scan, &count), GS_E_INVALID);
	scan.at = text + 77;
	assert_int_equal(gsr_scan_count(&scan, &count), GS_E_INVALID);
}

static void strings_are_decoded(void **state)
{
	const char *text = "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t \\u00e9\\u20ac\\ud83d\\ude00\\u0000 \xc3\xa9\"";
	struct gsr_scan scan;
	char to[100];
	size_t length;

	(void)state;
	gsr_scan_init(&scan, text, strlen(text));
	assert_int_equal(gsr_scan_string(&scan, to, &length), 0);
	assert_string_equal(to, "a\"\\/\b\f\n\r\t \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd \xc3\xa9");
	assert_int_equal(length, strlen(to));
	assert_ptr_equal(scan.at, scan.end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_are_accepted), cmocka_unit_test(mistakes_have_a_place),
	    cmocka_unit_test(depth_is_bounded),	   cmocka_unit_test(numbers_are_exact),
	    cmocka_unit_test(strings_are_decoded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
