/* shim/core/clock.c: the time that the processor's counter tells is the system's, before there is a line, on it, and when
 * it is drawn anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/base/os.h"
#include "shim/core/clock.h"

#define OFF_NS 2000u /* most that the line may be off */
#define UNTIL_NS 60000000u

static void test_asked_without_a_line(void **state)
{
	uint64_t before = gsb_os_now_ns(), now = gs_clock_ns();

	(void)state;
	assert_in_range(now, before, gsb_os_now_ns());
}

/* However long the thread is kept from running, the time lies between two of the system's. */
static void test_between_two_of_the_system(void **state)
{
	uint64_t start = gsb_os_now_ns(), before = start, due_ticks = 0;
	unsigned lines = 0;

	(void)state;
	gs_clock_init();
	while (before < start + UNTIL_NS) {
		uint64_t now;

		before = gsb_os_now_ns();
		now = gs_clock_ns();
		assert_in_range(now, before - OFF_NS, gsb_os_now_ns() + OFF_NS);
		if (atomic_load(&gs_clock_line.due_ticks) != due_ticks)
			lines++;
		due_ticks = atomic_load(&gs_clock_line.due_ticks);
	}
	print_message("# %u lines\n", lines);
	if (lines == 0)
		skip();
}

static void test_before_the_line(void **state)
{
	uint64_t ticks = atomic_load(&gs_clock_line.ticks);

	(void)state;
	if (ticks == 0)
		skip();
	assert_int_equal(gs_clock_at(ticks), atomic_load(&gs_clock_line.ns));
	assert_int_equal(gs_clock_at(ticks - 1000), atomic_load(&gs_clock_line.ns));
	assert_true(gs_clock_at(ticks + 1000) > atomic_load(&gs_clock_line.ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked_without_a_line),
		cmocka_unit_test(test_between_two_of_the_system),
		cmocka_unit_test(test_before_the_line),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
