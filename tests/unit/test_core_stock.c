/* shim/core/stock.c: events are those of their context, and end with it, whoever has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/core/device.h"
#include "shim/core/fences.h"
#include "shim/core/stock.h"

static struct gs_context context_new(void)
{
	struct gs_context context;

	assert_true(gs_context_add((CUcontext)0x7770, 0, false, &context)); /* the driver gives handles again */
	return context;
}

static void an_event_serves_again(void **state)
{
	struct gs_context context = context_new(), other;
	struct gs_stocked *event = gs_stock_take(&context);

	(void)state;
	assert_true(gs_context_add((CUcontext)0x8880, 0, false, &other));
	gs_stock_give(event);
	assert_int_equal(gs_stock_kept(), 1);
	assert_ptr_not_equal(gs_stock_take(&other), event);
	assert_ptr_equal(gs_stock_take(&context), event);
	assert_ptr_not_equal(gs_stock_take(&context), event);
	assert_int_equal(gs_stock_taken(), 3);
	gs_context_gone(other.handle);
	gs_context_gone(context.handle);
}

static void events_end_with_their_context(void **state)
{
	size_t taken = gs_stock_taken();

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct gs_context context = context_new();
		struct gs_stocked *kept = gs_stock_take(&context), *out = gs_stock_take(&context);

		assert_null(kept->event);
		assert_null(out->event);
		kept->event = out->event = (CUevent)0x1230;
		gs_stock_give(kept);
		assert_true(gs_stock_lives(out));
		gs_context_gone(context.handle);
		assert_false(gs_stock_lives(out));
		gs_stock_give(out);
		assert_int_equal(gs_stock_kept(), 0);
		assert_int_equal(gs_stock_taken(), taken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_event_serves_again),
	    cmocka_unit_test(events_end_with_their_context),
	};

	gs_fences_init();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("the stock of events", tests, NULL, NULL);
}
