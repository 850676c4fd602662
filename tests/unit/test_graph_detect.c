/* Periods of token streams, compared with what a plain look at the whole stream says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/detect.h"

enum { TOKENS = 20000, SEEDS = 60 };

static struct gsg_detect *detect;
static uint64_t stream[TOKENS];
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static int start(void **state)
{
	(void)state;
	detect = calloc(1, sizeof(*detect));
	return detect == NULL;
}

static int end(void **state)
{
	(void)state;
	free(detect);
	return 0;
}

/* How many of the last tokens, up to and with number `at`, are the same as those a period before. */
static uint64_t run_of(uint32_t at, uint32_t period)
{
	uint64_t run = 0;

	while (at >= period && stream[at] == stream[at - period]) {
		run++;
		if (at-- == 0)
			break;
	}
	return run;
}

/* Whatever is said of a period is so. */
static void check_watch(uint32_t at, const struct gsg_watch *watch)
{
	if (watch->period == 0)
		assert_int_equal(watch->run, 0);
	else
		assert_true(watch->run <= run_of(at, watch->period));
}

static void check(uint32_t at)
{
	assert_int_equal(detect->count, at + 1);
	assert_int_equal(gsg_detect_token(detect, 0), stream[at]);
	check_watch(at, &detect->outer);
	check_watch(at, &detect->inner);
}

/* A stream of pieces, each of which is repeated so often; alphabets of different sizes. */
static void make_stream(uint64_t number)
{
	uint32_t count = 0;

	seed = number * 77 + 1;
	while (count < TOKENS) {
		uint32_t start_at = count, length = 1 + draw(draw(3) == 0 ? 400 : 12), alphabet = 1 + draw(40);
		uint32_t times = 1 + draw(20);

		for (uint32_t i = 0; i < length && count < TOKENS; i++)
			stream[count++] = 1 + draw(alphabet);
		while (times-- > 0)
			for (uint32_t i = 0; i < length && count < TOKENS; i++)
				stream[count++] = stream[start_at + i];
	}
}

static void test_true(void **state)
{
	(void)state;
	for (uint64_t number = 0; number < SEEDS; number++) {
		memset(detect, 0, sizeof(*detect));
		make_stream(number);
		for (uint32_t i = 0; i < TOKENS; i++) {
			gsg_detect_push(detect, stream[i]);
			check(i);
		}
	}
}

/* A stream that repeats is found to, whatever came before: soon, and by its smallest period. */
static void test_found(void **state)
{
	static const uint32_t periods[] = {1, 2, 3, 5, 7, 8, 31, 64, 100, 442, 1000, 2047, 4000};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		uint32_t period = periods[i], count = 0;

		for (uint32_t j = 0; j < 777; j++)
			gsg_detect_push(detect, 1000000 + draw(5));
		while (!gsg_watch_found(&detect->outer, 0) || detect->outer.period != period) {
			gsg_detect_push(detect, 2000000 + i * 10000 + count % period);
			assert_true(++count <= 4 * period + 2 * GSG_DETECT_GRAM);
		}
		for (uint32_t j = 0; j < 3 * period; j++, count++) {
			gsg_detect_push(detect, 2000000 + i * 10000 + count % period);
			assert_int_equal(detect->outer.period, period);
			assert_int_equal(gsg_watch_found(&detect->outer, 0), j % period == period - 1);
		}
	}
}

/* A short loop inside a longer one: the longer one is found. */
static void test_inner(void **state)
{
	bool outer = false;

	(void)state;
	for (uint32_t i = 0; i < 6 * 30; i++) {
		gsg_detect_push(detect, i % 30 < 20 ? 1 : i % 30);
		outer = outer || (gsg_watch_found(&detect->outer, 32) && detect->outer.period == 30);
		assert_false(gsg_watch_found(&detect->outer, 32) && detect->outer.period != 30);
		assert_false(gsg_watch_found(&detect->inner, 32) && detect->inner.period != 30);
	}
	assert_true(outer);
}

/* A long one inside a much longer one: both are found, the inner one each time. */
static void test_long_inner(void **state)
{
	unsigned outer = 0, inner = 0;

	(void)state;
	for (uint32_t i = 0; i < 6 * 1000; i++) {
		gsg_detect_push(detect, i % 1000 < 600 ? i % 2 : i % 1000);
		outer += gsg_watch_found(&detect->outer, 32) && detect->outer.period == 1000;
		inner += detect->inner.period == 2 && detect->inner.run == 64;
	}
	assert_int_equal(outer, 3);
	assert_int_equal(inner, 6);
}

/* What does not repeat has no period for long. */
static void test_none(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TOKENS; i++) {
		gsg_detect_push(detect, i + 1);
		assert_false(gsg_watch_found(&detect->outer, 0));
	}
	for (uint32_t i = 0; i < TOKENS; i++) {
		gsg_detect_push(detect, draw(3));
		assert_false(gsg_watch_found(&detect->outer, 64) || gsg_watch_found(&detect->inner, 64));
	}
}

static void test_hash(void **state)
{
	static const unsigned char bytes[64];
	uint64_t hashes[65];

	(void)state;
	for (unsigned i = 0; i <= 64; i++) {
		hashes[i] = gsg_hash(bytes, i, 0);
		for (unsigned j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_true, start, end),
		cmocka_unit_test_setup_teardown(test_found, start, end),
		cmocka_unit_test_setup_teardown(test_inner, start, end),
		cmocka_unit_test_setup_teardown(test_long_inner, start, end),
		cmocka_unit_test_setup_teardown(test_none, start, end),
		cmocka_unit_test(test_hash),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph detect", tests, NULL, NULL);
}
