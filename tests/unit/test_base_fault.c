/* Fault points: armed, they let the given number of passes succeed and then fail as often as asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/base/fault.h"

static void test_disarmed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_false(gsb_fault(GSB_FAULT_RING));
	assert_int_equal(gsb_fault_fired(GSB_FAULT_RING), 0);
}

static void test_armed(void **state)
{
	(void)state;
	for (unsigned passes = 0; passes < 4; passes++) {
		for (unsigned times = 0; times < 4; times++) {
			gsb_fault_arm(GSB_FAULT_RING, passes, times);
			for (unsigned i = 0; i < 10; i++)
				assert_int_equal(gsb_fault(GSB_FAULT_RING), i >= passes && i < passes + times);
			assert_int_equal(gsb_fault_fired(GSB_FAULT_RING), times);
		}
	}
}

static void test_apart(void **state)
{
	(void)state;
	gsb_fault_arm(GSB_FAULT_STACK, 0, 1);
	assert_false(gsb_fault(GSB_FAULT_SLAB));
	assert_true(gsb_fault(GSB_FAULT_STACK));
	assert_false(gsb_fault(GSB_FAULT_STACK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_disarmed),
	    cmocka_unit_test(test_armed),
	    cmocka_unit_test(test_apart),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
