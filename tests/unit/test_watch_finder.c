/* shim/watch/finder.c: programs as texts, a letter for each kernel at its place; the steps that are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "shim/watch/finder.h"

struct run {
	struct gs_finder finder;
	struct gs_finder_mark marks[256];
	uint64_t rounds[256]; /* by anchor, of those that are no part of another one's */
	uint64_t launches;
	uint64_t last_begin;
	uint64_t lengths[64]; /* of the newest rounds */
	uint64_t length_count;
};

static struct run run;

static void launch(unsigned char kernel)
{
	enum gs_found found = gs_finder_see(&run.finder, &run.marks[kernel], kernel);
	static unsigned char anchor;

	run.launches++;
	if (found == GS_FOUND_ROUND) {
		run.rounds[kernel]++;
		run.lengths[run.length_count++ % 64] = run.launches - run.last_begin;
	} else if (found == GS_FOUND_OUTER) {
		run.rounds[anchor] = 0;
	} else if (found == GS_FOUND_INNER) {
		run.rounds[kernel] = 0;
	}
	if (found == GS_FOUND_ROUND || found == GS_FOUND_LOOP || found == GS_FOUND_OUTER) {
		anchor = kernel;
		run.last_begin = run.launches;
	}
}

static void play(const char *program, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		for (const char *at = program; *at != '\0'; at++)
			launch((unsigned char)*at);
}

static unsigned anchors(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < 256; i++)
		count += run.rounds[i] >= GS_FINDER_ROUNDS;
	return count;
}

static uint64_t rounds(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 256; i++)
		sum += run.rounds[i] >= GS_FINDER_ROUNDS ? run.rounds[i] : 0;
	return sum;
}

static int begin(void **state)
{
	(void)state;
	memset(&run, 0, sizeof(run));
	return 0;
}

static void plain_loop(void **state)
{
	(void)state;
	play("abcdef", 100);
	assert_int_equal(anchors(), 1);
	assert_int_equal(rounds(), 98);
	assert_int_equal(run.lengths[(run.length_count - 1) % 64], 6);
}

static void start_comes_first(void **state)
{
	(void)state;
	play("xyxyxyxyzzqw", 1);
	play("abcdef", 100);
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 85, 99);
}

static void layers_are_no_steps(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 50; step++) {
		play("ab", 1);
		play("lmnopq", 24);
		play("cde", 1);
	}
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 45, 49);
	assert_int_equal(run.lengths[(run.length_count - 1) % 64], 24 * 6 + 5);
}

/* Forward through the layers, backward through others, and the optimizer. */
static void layers_both_ways(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 50; step++) {
		play("ab", 1);
		play("lmnopq", 24);
		play("cd", 1);
		play("LMNOPQRSTUV", 24);
		play("efg", 1);
	}
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 40, 49);
	assert_int_equal(run.lengths[(run.length_count - 1) % 64], 24 * 17 + 7);
}

static void one_more_now_and_then(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 200; step++) {
		play("abcdefghij", 1);
		if (step % 10 == 9)
			play("x", 1);
		if (step % 7 == 3)
			play("f", 1);
	}
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 197, 199);
}

static void growing_rounds(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 100; step++) {
		play("abcde", 1);
		play("k", 1 + step / 8);
		play("fg", 1);
	}
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 95, 99);
}

static void train_and_test(void **state)
{
	(void)state;
	for (unsigned epoch = 0; epoch < 5; epoch++) {
		for (unsigned step = 0; step < 60; step++) {
			play("abcdefghijklmnop", 1);
			if (step % 10 == 9)
				play("x", 1);
		}
		play("ABCDEFGH", 40);
	}
	assert_int_equal(anchors(), 2);
	assert_in_range(rounds(), 5 * 90, 5 * 100);
}

/* A long prompt in one go, then token by token. */
static void prefill_and_decode(void **state)
{
	(void)state;
	for (unsigned request = 0; request < 6; request++) {
		play("PQ", 1);
		play("RSTUV", 12);
		play("WX", 1);
		for (unsigned token = 0; token < 40; token++) {
			play("ab", 1);
			play("lmnopqrst", 12);
			play("cd", 1);
		}
	}
	assert_true(run.rounds['a'] + run.rounds['b'] + run.rounds['c'] + run.rounds['d'] > 6 * 35);
	assert_in_range(anchors(), 1, 2);
}

/* One of many kernels comes twice in a round. */
static void anchor_twice(void **state)
{
	(void)state;
	play("abcadefg", 100);
	assert_int_equal(anchors(), 1);
	assert_in_range(rounds(), 95, 99);
	assert_int_equal(run.lengths[(run.length_count - 1) % 64], 8);
}

/* No order at all: whatever is found, it ends. */
static void noise(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 1000000; i++) {
		seed = seed * 1664525u + 1013904223u;
		launch((unsigned char)(seed >> 25));
	}
	assert_true(run.launches == 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(plain_loop, begin),
		cmocka_unit_test_setup(start_comes_first, begin),
		cmocka_unit_test_setup(layers_are_no_steps, begin),
		cmocka_unit_test_setup(layers_both_ways, begin),
		cmocka_unit_test_setup(one_more_now_and_then, begin),
		cmocka_unit_test_setup(growing_rounds, begin),
		cmocka_unit_test_setup(train_and_test, begin),
		cmocka_unit_test_setup(prefill_and_decode, begin),
		cmocka_unit_test_setup(anchor_twice, begin),
		cmocka_unit_test_setup(noise, begin),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
