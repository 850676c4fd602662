/* shim/stack/trail.h: a trail holds while nothing of what its walk depended on has changed, and not otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "shim/stack/trail.h"

enum { WORDS = 200, GENERATION = 7, BASE = 11, NODE = 13 };

static uint64_t stack[WORDS];
static struct gs_place place;
static struct gs_trail *trail;

static uint64_t address_of(unsigned word)
{
	return (uint64_t)(uintptr_t)&stack[word];
}

static void note(unsigned word)
{
	gs_trail_note(trail, address_of(word), stack[word]);
}

static bool holds(void)
{
	return gs_trail_holds(trail, BASE, GENERATION, &place, address_of(WORDS));
}

static int begin(void **state)
{
	(void)state;
	trail = calloc(1, sizeof(*trail));
	for (unsigned at = 0; at < WORDS; at++)
		stack[at] = 1000 + at;
	place = (struct gs_place){.address = 0x1234, .sp = address_of(0), .bp = address_of(3)};
	gs_trail_begin(trail, &place, GENERATION);
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(trail);
	return 0;
}

static void test_words(void **state)
{
	(void)state;
	note(5);
	note(2);
	note(90);
	assert_false(holds());
	gs_trail_keep(trail, BASE, NODE);
	assert_true(holds());
	assert_int_equal(trail->node, NODE);
	for (unsigned at = 0; at < WORDS; at++) {
		stack[at]++;
		assert_int_equal(holds(), at != 5 && at != 2 && at != 90);
		stack[at]--;
	}
}

static void test_beginning(void **state)
{
	uint64_t *parts[] = {&place.address, &place.sp, &place.bp};

	(void)state;
	note(5);
	gs_trail_keep(trail, BASE, NODE);
	for (unsigned at = 0; at < 3; at++) {
		*parts[at] += 16;
		assert_false(holds());
		*parts[at] -= 16;
	}
	assert_true(holds());
	assert_false(gs_trail_holds(trail, BASE + 1, GENERATION, &place, address_of(WORDS)));
	assert_false(gs_trail_holds(trail, BASE, GENERATION + 1, &place, address_of(WORDS)));
}

/* What is not known to be readable is not read. */
static void test_end_of_stack(void **state)
{
	(void)state;
	note(40);
	note(5);
	gs_trail_keep(trail, BASE, NODE);
	assert_true(gs_trail_holds(trail, BASE, GENERATION, &place, address_of(41)));
	assert_false(gs_trail_holds(trail, BASE, GENERATION, &place, address_of(40)));
}

static void test_not_whole(void **state)
{
	(void)state;
	for (unsigned at = 0; at < GS_TRAIL_WORDS; at++)
		note(at);
	gs_trail_keep(trail, BASE, NODE);
	assert_true(holds());
	note(GS_TRAIL_WORDS);
	gs_trail_keep(trail, BASE, NODE);
	assert_false(holds());

	gs_trail_begin(trail, &place, GENERATION);
	gs_trail_note(trail, place.sp + 8 * (uint64_t)UINT16_MAX, 0);
	gs_trail_note(trail, place.sp + 8 * ((uint64_t)UINT16_MAX + 1), 0);
	gs_trail_keep(trail, BASE, NODE);
	assert_false(holds());

	gs_trail_begin(trail, &place, GENERATION);
	gs_trail_spoil(trail);
	note(5);
	gs_trail_keep(trail, BASE, NODE);
	assert_false(holds());
}

/* A walk of its place begins: what was kept there is gone, whether the new one ends well or not. */
static void test_begins_anew(void **state)
{
	(void)state;
	note(5);
	gs_trail_keep(trail, BASE, NODE);
	gs_trail_begin(trail, &place, GENERATION);
	assert_false(holds());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_words, begin, end),
		cmocka_unit_test_setup_teardown(test_beginning, begin, end),
		cmocka_unit_test_setup_teardown(test_end_of_stack, begin, end),
		cmocka_unit_test_setup_teardown(test_not_whole, begin, end),
		cmocka_unit_test_setup_teardown(test_begins_anew, begin, end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
