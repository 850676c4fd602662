/* Spans: cutting, trimming, quoting, numbers at their limits, the nearest name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "shim/base/span.h"

static struct gsb_span head, rest;

static void test_cut(void **state)
{
	(void)state;
	assert_true(gsb_span_cut(gsb_span_of("a:b:c"), ':', &head, &rest));
	assert_true(gsb_span_is(head, "a") && gsb_span_is(rest, "b:c"));
	assert_true(gsb_span_cut(gsb_span_of(":"), ':', &head, &rest));
	assert_true(head.length == 0 && rest.length == 0);
	assert_false(gsb_span_cut(gsb_span_of("abc"), ':', &head, &rest));
	assert_true(gsb_span_is(head, "abc") && gsb_span_is(rest, ""));
	assert_false(gsb_span_cut((struct gsb_span){NULL, 0}, ':', &head, &rest));
	assert_int_equal(head.length, 0);
	rest = gsb_span_of("x=y=z");
	assert_true(gsb_span_cut(rest, '=', &head, &rest));
	assert_true(gsb_span_is(rest, "y=z"));
}

static void test_trim_and_equal(void **state)
{
	(void)state;
	assert_true(gsb_span_is(gsb_span_trim(gsb_span_of(" \t a b\r\n")), "a b"));
	assert_int_equal(gsb_span_trim(gsb_span_of(" \t ")).length, 0);
	assert_true(gsb_span_equal((struct gsb_span){NULL, 0}, gsb_span_of("")));
	assert_false(gsb_span_equal(gsb_span_of("ab"), gsb_span_of("abc")));
	assert_false(gsb_span_is(gsb_span_of("abd"), "abc"));
}

static void test_quote(void **state)
{
	char shown[128], longer[200];
	struct gsb_text text;

	(void)state;
	gsb_text_init(&text, shown, sizeof(shown));
	gsb_span_quote(&text, gsb_span_of("a\033[1m\n\x7f\xc3\xa9"));
	assert_string_equal(shown, "'a?[1m??\xc3\xa9'");
	memset(longer, 'y', sizeof(longer));
	gsb_text_init(&text, shown, sizeof(shown));
	gsb_span_quote(&text, (struct gsb_span){longer, sizeof(longer)});
	assert_int_equal(strlen(shown), 80 + 5);
	assert_string_equal(shown + 80, "y...'");
	gsb_text_init(&text, shown, sizeof(shown));
	gsb_span_add(&text, gsb_span_of("it's\n"));
	assert_string_equal(shown, "it's\n");
}

static void number(const char *text, enum gsb_number wanted_result, uint64_t wanted)
{
	uint64_t got = 77;

	assert_int_equal(gsb_span_read_number(gsb_span_of(text), &got), wanted_result);
	assert_true(got == (wanted_result == GSB_NUMBER_FINE ? wanted : 77));
}

static void test_numbers(void **state)
{
	(void)state;
	number("0", GSB_NUMBER_FINE, 0);
	number("-0", GSB_NUMBER_FINE, 0);
	number("007", GSB_NUMBER_FINE, 7);
	number("18446744073709551615", GSB_NUMBER_FINE, UINT64_MAX);
	number("18446744073709551616", GSB_NUMBER_OUT_OF_RANGE, 0);
	number("99999999999999999999999999", GSB_NUMBER_OUT_OF_RANGE, 0);
	number("-1", GSB_NUMBER_OUT_OF_RANGE, 0);
	number("", GSB_NUMBER_JUNK, 0);
	number("-", GSB_NUMBER_JUNK, 0);
	number("+1", GSB_NUMBER_JUNK, 0);
	number("1 ", GSB_NUMBER_JUNK, 0);
	number("0x10", GSB_NUMBER_JUNK, 0);
}

static void size(const char *text, enum gsb_number wanted_result, uint64_t wanted)
{
	uint64_t got = 77;

	assert_int_equal(gsb_span_read_size(gsb_span_of(text), &got), wanted_result);
	assert_true(got == (wanted_result == GSB_NUMBER_FINE ? wanted : 77));
}

static void test_sizes(void **state)
{
	(void)state;
	size("5", GSB_NUMBER_FINE, 5);
	size("5b", GSB_NUMBER_FINE, 5);
	size("5K", GSB_NUMBER_FINE, 5 << 10);
	size("5mB", GSB_NUMBER_FINE, 5 << 20);
	size("5GiB", GSB_NUMBER_FINE, 5ull << 30);
	size("16777215T", GSB_NUMBER_FINE, 16777215ull << 40);
	size("16777216T", GSB_NUMBER_OUT_OF_RANGE, 0);
	size("-5K", GSB_NUMBER_OUT_OF_RANGE, 0);
	size("K", GSB_NUMBER_JUNK, 0);
	size("5Ki", GSB_NUMBER_JUNK, 0);
	size("5iB", GSB_NUMBER_JUNK, 0);
	size("5KBs", GSB_NUMBER_JUNK, 0);
	size("5 K", GSB_NUMBER_JUNK, 0);
}

static void share(const char *text, enum gsb_number wanted_result, double wanted)
{
	double got = 77;

	assert_int_equal(gsb_span_read_share(gsb_span_of(text), &got), wanted_result);
	assert_true(got == (wanted_result == GSB_NUMBER_FINE ? wanted : 77));
}

static void test_shares(void **state)
{
	(void)state;
	share("0.8", GSB_NUMBER_FINE, 0.8);
	share(".1", GSB_NUMBER_FINE, 0.1);
	share("2.", GSB_NUMBER_FINE, 2.0);
	share("0.1234567890123456789", GSB_NUMBER_FINE, 0.123456789012);
	share("-0.0", GSB_NUMBER_FINE, 0.0);
	share("-0.1", GSB_NUMBER_OUT_OF_RANGE, 0);
	share("-3", GSB_NUMBER_OUT_OF_RANGE, 0);
	share("18446744073709551615.99999999999999999", GSB_NUMBER_OUT_OF_RANGE, 0);
	share("99999999999999999999999", GSB_NUMBER_OUT_OF_RANGE, 0);
	share("", GSB_NUMBER_JUNK, 0);
	share(".", GSB_NUMBER_JUNK, 0);
	share("1.2.3", GSB_NUMBER_JUNK, 0);
	share("0,8", GSB_NUMBER_JUNK, 0);
	share("1e-1", GSB_NUMBER_JUNK, 0);
}

static void test_nearest(void **state)
{
	struct gsb_nearest nearest = {.wanted = gsb_span_of("KITEN")};

	(void)state;
	gsb_nearest_offer(&nearest, gsb_span_of("sitting"));
	assert_int_equal(nearest.distance, 4);
	gsb_nearest_offer(&nearest, gsb_span_of("kitten"));
	assert_int_equal(nearest.distance, 1);
	gsb_nearest_offer(&nearest, gsb_span_of("kiten2"));
	assert_true(gsb_span_is(nearest.best, "kitten"));
	gsb_nearest_offer(&nearest, gsb_span_of("kiten"));
	assert_int_equal(nearest.distance, 0);

	nearest = (struct gsb_nearest){.wanted = {NULL, 0}};
	gsb_nearest_offer(&nearest, gsb_span_of("abc"));
	assert_int_equal(nearest.distance, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cut),	    cmocka_unit_test(test_trim_and_equal), cmocka_unit_test(test_quote),
	    cmocka_unit_test(test_numbers), cmocka_unit_test(test_sizes),	   cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_nearest),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
