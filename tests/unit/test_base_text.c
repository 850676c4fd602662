/* Bounded texts: every conversion against the C library's, and never a byte too far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/text.h"

#define SAME(format, ...)                                                                                              \
	do {                                                                                                           \
		char wanted[256], got[256];                                                                            \
		struct gsb_text text;                                                                                  \
                                                                                                                       \
		snprintf(wanted, sizeof(wanted), format, __VA_ARGS__);                                                 \
		gsb_text_init(&text, got, sizeof(got));                                                                \
		gsb_text_add(&text, format, __VA_ARGS__);                                                              \
		assert_string_equal(got, wanted);                                                                      \
		assert_int_equal(text.length, strlen(wanted));                                                         \
		assert_false(text.cut);                                                                                \
	} while (0)

static void test_conversions(void **state)
{
	(void)state;
	SAME("%s|%s|%c", "some", "", 'x');
	SAME("%d %i %d %d", 0, -1, INT_MAX, INT_MIN);
	SAME("%u %u", 0u, UINT_MAX);
	SAME("%ld %ld %lu", LONG_MAX, LONG_MIN, ULONG_MAX);
	SAME("%lld %lld %llu", LLONG_MAX, LLONG_MIN, ULLONG_MAX);
	SAME("%zu %zu", (size_t)0, SIZE_MAX);
	SAME("%x %lx %llx", 0xdeadbeefu, ULONG_MAX, 0x123456789abcdefull);
	SAME("%p", (void *)0x7fff12345678);
	SAME("%08x|%3d|%3d|%20llu|%02u", 0xbeefu, 7, 12345, ULLONG_MAX, 5u);
	SAME("100%% of %s%%", "it");
}

static void test_odd_formats(void **state)
{
	const char *odd = "%q and %"; /* not literals, so that the compiler lets them pass */
	const char *volatile nothing = NULL;
	char got[64];
	struct gsb_text text;

	(void)state;
	gsb_text_init(&text, got, sizeof(got));
	gsb_text_add(&text, odd, 0);
	assert_string_equal(got, "%q and %");
	gsb_text_init(&text, got, sizeof(got));
	gsb_text_add(&text, "%s", nothing);
	assert_string_equal(got, "(null)");
}

/* Every capacity: the text is the start of the whole one, and says whether it was cut. */
static void test_cut(void **state)
{
	static const char whole[] = "abc -12 0x7f ghi";

	(void)state;
	for (size_t capacity = 1; capacity <= sizeof(whole) + 2; capacity++) {
		char *start = malloc(capacity);
		struct gsb_text text;

		gsb_text_init(&text, start, capacity);
		gsb_text_add(&text, "%s %d %p", "abc", -12, (void *)0x7f);
		gsb_text_add(&text, " ghi");
		assert_int_equal(text.cut, capacity < sizeof(whole));
		assert_int_equal(text.length, capacity < sizeof(whole) ? capacity - 1 : sizeof(whole) - 1);
		assert_memory_equal(start, whole, text.length);
		assert_int_equal(start[text.length], '\0');
		free(start);
	}
}

static void test_bytes(void **state)
{
	static const struct {
		unsigned long long bytes;
		const char *shown;
	} cases[] = {
	    {0, "0 B"},
	    {1023, "1023 B"},
	    {1024, "1.0 KiB"},
	    {1536, "1.5 KiB"},
	    {20ull << 20, "20.0 MiB"},
	    {(1ull << 30) - 1, "1023.9 MiB"},
	    {3ull << 29, "1.5 GiB"},
	    {5ull << 40, "5.0 TiB"},
	    {5000ull << 40, "5000.0 TiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char got[32];
		struct gsb_text text;

		gsb_text_init(&text, got, sizeof(got));
		gsb_text_add_bytes(&text, cases[i].bytes);
		assert_string_equal(got, cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_conversions),
	    cmocka_unit_test(test_odd_formats),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
