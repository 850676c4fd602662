/* shim/watch/sample.c: events are used in the context that made them, none is lost while contexts take turns, and
 * nobody is kept waiting afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/core/clock.h"
#include "shim/core/order.h"
#include "shim/watch/kernel.h"
#include "shim/watch/sample.h"

enum { PAIRS = 64, EVENTS = 1024 };

static CUcontext current;
static CUcontext owners[EVENTS]; /* by event; NULL: there is none */
static unsigned live, wrong, create_fails;

static CUcontext *owner_of(CUevent event)
{
	return &owners[(uintptr_t)event - 1];
}

static CUresult context_current(CUcontext *ret_context)
{
	*ret_context = current;
	return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *ret_event, unsigned flags)
{
	uintptr_t event = 1;

	assert_int_equal(flags, CU_EVENT_DEFAULT);
	if (create_fails != 0 && --create_fails == 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (*owner_of((CUevent)event) != NULL)
		event++;
	assert_true(event < EVENTS);
	*owner_of((CUevent)event) = current;
	live++;
	*ret_event = (CUevent)event;
	return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event)
{
	assert_non_null(*owner_of(event));
	*owner_of(event) = NULL;
	live--;
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
	(void)stream;
	wrong += *owner_of(event) != current;
	return *owner_of(event) == current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult event_query(CUevent event)
{
	assert_non_null(*owner_of(event));
	return CUDA_SUCCESS;
}

static CUresult elapsed(float *ret_ms, CUevent start, CUevent end)
{
	(void)start;
	(void)end;
	*ret_ms = 1;
	return CUDA_SUCCESS;
}

static void sample(struct gs_kernel_row *row)
{
	struct gs_sample_pair *pair;

	gs_sample_begin((CUstream)0x10, false);
	if (gs_thread.sample == NULL)
		return;
	pair = gs_sample_end((CUstream)0x10, false, true, gs_ticks());
	if (pair != NULL)
		gs_sample_of(pair, row);
}

static void samples_in(uintptr_t context, unsigned count, struct gs_kernel_row *row)
{
	current = (CUcontext)context;
	for (unsigned i = 0; i < count; i++)
		sample(row);
}

static void contexts_take_turns(void **state)
{
	struct gs_kernel_row *row = gs_kernel_row(0, 1, 1);
	uint64_t samples;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		samples_in(0x100 + 0x100 * (i % 2), PAIRS + 7, row);
	assert_int_equal(wrong, 0);
	assert_int_equal(live, 2 * PAIRS);
	samples = row->samples;
	assert_true(samples > 5 * PAIRS);
	/* Of a context that ends, the events are gone; those of others stay. */
	gs_sample_context_gone((CUcontext)0x900);
	samples_in(0x200, 2 * PAIRS, row);
	assert_int_equal(live, 2 * PAIRS);
	assert_true(row->samples > samples + PAIRS);
	gs_sample_context_gone((CUcontext)0x200);
	for (unsigned i = 0; i < EVENTS; i++)
		owners[i] = NULL;
	live = 0;
	samples_in(0x200, PAIRS, row);
	assert_int_equal(live, 2 * PAIRS);
	assert_int_equal(wrong, 0);
}

static void a_second_event_that_is_refused(void **state)
{
	(void)state;
	create_fails = 2;
	samples_in(0x300, 1, gs_kernel_row(0, 1, 1));
	assert_int_equal(create_fails, 0);
	assert_int_equal(live, 2 * (PAIRS - 1));
}

/* Whoever wants to be alone is, at once. */
static void nobody_is_left_inside(void **state)
{
	(void)state;
	gs_order_let_go(gs_order_hold());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contexts_take_turns),
	    cmocka_unit_test(a_second_event_that_is_refused),
	    cmocka_unit_test(nobody_is_left_inside),
	};

	gs_clock_init();
	gs_driver.cuCtxGetCurrent = context_current;
	gs_driver.cuEventCreate = event_create;
	gs_driver.cuEventDestroy_v2 = event_destroy;
	gs_driver.cuEventRecord = event_record;
	gs_driver.cuEventQuery = event_query;
	gs_driver.cuEventElapsedTime = elapsed;
	gs_sample_init(50);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
