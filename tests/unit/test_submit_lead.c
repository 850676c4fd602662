/* How far the program is ahead: lead.c over devices that finish when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "shim/core/counter.h"
#include "shim/submit/lead.h"
#include "shim/submit/mark.h"
#include "shim/submit/put.h"

enum { MOST = 768, MARKED = 256, SOON = 16 }; /* what is finished is known by marks, which lag behind */

static uint64_t begun;
static bool device_done;
static unsigned pauses;

uint64_t gs_counter_pieces(bool ended)
{
	(void)ended;
	return begun;
}

bool gs_marks_possible(void)
{
	return true;
}

void gs_marks_stock(void)
{
}

void gs_marks_reset(void)
{
}

bool gs_mark_make(unsigned mark)
{
	(void)mark;
	return true;
}

bool gs_mark_passed(unsigned mark)
{
	(void)mark;
	return device_done;
}

void gs_put_mark(uint64_t covers)
{
	gs_lead_mark(covers, 0);
}

void gs_put_pause(bool begins)
{
	pauses += begins;
}

/* A piece that may be put off, after others that may not. */
static bool next(unsigned pieces)
{
	begun += pieces;
	return gs_lead_may_put(0);
}

/* Whatever the program does in between, the devices are looked at again soon. */
static void test_far_ahead_and_back(void **state)
{
	(void)state;
	assert_true(gs_lead_start());
	for (unsigned pieces = 1; pieces <= 3; pieces++) {
		uint64_t first = begun, done;
		unsigned waits = pauses;

		device_done = false;
		while (next(pieces))
			assert_true(begun - first <= MOST);
		assert_true(begun - first > MOST - MARKED);
		assert_int_equal(pauses, waits + 1);
		for (unsigned i = 0; i < 3 * SOON; i++)
			assert_false(next(pieces));
		assert_int_equal(pauses, waits + 1); /* it was waited once */
		device_done = true;
		begun |= 1; /* an odd number, so that steps of two meet no even one */
		for (done = begun; !next(pieces);)
			assert_true(begun - done <= 2 * SOON);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_far_ahead_and_back)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("submit lead", tests, NULL, NULL);
}
