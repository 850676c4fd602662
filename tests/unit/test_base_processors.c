/* How many processors the process may use: the mask, and the quotas of both kinds of control group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/base/processors.h"

static void test_judge(void **state)
{
	(void)state;
	assert_int_equal(gsb_processors_judge(8, NULL, NULL, NULL), 8);
	assert_int_equal(gsb_processors_judge(8, "max 100000\n", NULL, NULL), 8);
	assert_int_equal(gsb_processors_judge(8, "200000 100000\n", NULL, NULL), 2);
	assert_int_equal(gsb_processors_judge(8, "150000 100000\n", NULL, NULL), 1);
	assert_int_equal(gsb_processors_judge(8, "50000 100000\n", NULL, NULL), 1);
	assert_int_equal(gsb_processors_judge(1, "400000 100000\n", NULL, NULL), 1);
	assert_int_equal(gsb_processors_judge(8, "", NULL, NULL), 8);
	assert_int_equal(gsb_processors_judge(8, "garbage\n", NULL, NULL), 8);
	assert_int_equal(gsb_processors_judge(8, NULL, "-1\n", "100000\n"), 8);
	assert_int_equal(gsb_processors_judge(8, NULL, "300000\n", "100000\n"), 3);
	assert_int_equal(gsb_processors_judge(0, NULL, NULL, NULL), 1);
}

static void test_here(void **state)
{
	(void)state;
	assert_true(gsb_processors() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_judge), cmocka_unit_test(test_here)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("base processors", tests, NULL, NULL);
}
