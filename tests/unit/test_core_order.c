/* Open captures: they end with their stream and with their context, whatever name the stream was called by; and who
 * may record while captures and contexts begin or end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/base/fault.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/watch/note.h"

#define STREAM(number) ((CUstream)(uintptr_t)(0x1000 + (number)))
#define CONTEXT(number) ((CUcontext)(uintptr_t)(0x2000 + (number)))

/* In place of the real ones, which would bring in the whole table and with it our dlsym; a sanitizer cannot start
 * with that in the program. */
struct gs_driver gs_driver;
const struct gs_fn_info gs_fn_info[GS_FN_COUNT] = {
    [GS_FN_cuStreamBeginCapture_v2_ptsz] = {.per_thread = true},
    [GS_FN_cuStreamEndCapture_ptsz] = {.per_thread = true},
};

int gs_device_count(void)
{
	return 0;
}

bool gs_stream_resolve(CUstream handle, bool per_thread, struct gsa_stream *ret_stream)
{
	(void)handle;
	(void)per_thread;
	(void)ret_stream;
	return false;
}

void gs_note_event(const struct gs_call *call, enum gs_event_type type, uint64_t handle, uint64_t stream)
{
	(void)call;
	(void)type;
	(void)handle;
	(void)stream;
}

static CUcontext current = CONTEXT(1);
static CUresult begin_result, end_result;
static CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static _Atomic bool done;
static int held_cancel;

static CUresult CUDAAPI current_get(CUcontext *context)
{
	*context = current;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI begin_old(CUstream stream)
{
	(void)stream;
	return begin_result;
}

static CUresult CUDAAPI begin(CUstream stream, CUstreamCaptureMode mode)
{
	(void)stream;
	(void)mode;
	return begin_result;
}

static CUresult CUDAAPI begin_to_graph(CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges,
				       size_t count, CUstreamCaptureMode mode)
{
	(void)stream;
	(void)graph;
	(void)nodes;
	(void)edges;
	(void)count;
	(void)mode;
	return begin_result;
}

/* After a failed end the stream captures on only if another thread's capture was meant. */
static CUresult CUDAAPI is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = end_result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD ? CU_STREAM_CAPTURE_STATUS_ACTIVE
								       : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI end(CUstream stream, CUgraph *graph)
{
	(void)stream;
	(void)graph;
	return end_result;
}

static void capture_begin(enum gs_fn fn, CUstream stream)
{
	struct gs_call call = {.fn = fn};

	gs_on_cuStreamBeginCapture_v2(&call, begin, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void capture_begin_by(unsigned way, CUstream stream)
{
	struct gs_call call = {.fn = GS_FN_cuStreamBeginCapture};

	if (way == 0)
		gs_on_cuStreamBeginCapture(&call, begin_old, stream);
	else if (way == 1)
		capture_begin(GS_FN_cuStreamBeginCapture_v2, stream);
	else
		gs_on_cuStreamBeginCaptureToGraph(&call, begin_to_graph, stream, NULL, NULL, NULL, 0,
						  CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void capture_end(enum gs_fn fn, CUstream stream, CUresult result)
{
	struct gs_call call = {.fn = fn};

	end_result = result;
	gs_on_cuStreamEndCapture(&call, end, stream, NULL);
}

static void two_streams_capture_and_end(void **state)
{
	(void)state;
	assert_false(gs_order_capturing());
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(1));
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(2));
	capture_end(GS_FN_cuStreamEndCapture, STREAM(1), CUDA_SUCCESS);
	assert_true(gs_order_capturing());
	capture_end(GS_FN_cuStreamEndCapture, STREAM(2), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_false(gs_order_capturing());
}

static void a_capture_that_does_not_begin_is_not_open(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 3; way++) {
		begin_result = CUDA_ERROR_ILLEGAL_STATE;
		capture_begin_by(way, STREAM(1));
		assert_false(gs_order_capturing());
		begin_result = CUDA_SUCCESS;
		capture_begin_by(way, STREAM(1));
		assert_true(gs_order_capturing());
		capture_end(GS_FN_cuStreamEndCapture, STREAM(1), CUDA_SUCCESS);
		assert_false(gs_order_capturing());
	}
}

static void another_threads_capture_goes_on(void **state)
{
	(void)state;
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(1));
	capture_end(GS_FN_cuStreamEndCapture, STREAM(1), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	assert_true(gs_order_capturing());
	gs_order_stream_gone(STREAM(1));
	assert_false(gs_order_capturing());
}

static void the_per_thread_stream_has_two_names(void **state)
{
	(void)state;
	capture_begin(GS_FN_cuStreamBeginCapture_v2_ptsz, NULL);
	capture_end(GS_FN_cuStreamEndCapture, CU_STREAM_PER_THREAD, CUDA_SUCCESS);
	assert_false(gs_order_capturing());
	capture_begin(GS_FN_cuStreamBeginCapture_v2, CU_STREAM_PER_THREAD);
	capture_end(GS_FN_cuStreamEndCapture_ptsz, NULL, CUDA_SUCCESS);
	assert_false(gs_order_capturing());
}

static void a_context_takes_its_captures_along(void **state)
{
	(void)state;
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(1));
	current = CONTEXT(2);
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(2));
	capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(3));
	gs_order_context_gone(CONTEXT(2));
	assert_true(gs_order_capturing());
	gs_order_context_gone(CONTEXT(1));
	assert_false(gs_order_capturing());
}

static void what_a_wait_saw_is_settled(void **state)
{
	uint64_t mark;

	(void)state;
	gs_order_note_to_host();
	mark = gs_order_to_host_mark();
	gs_order_note_to_host();
	gs_order_to_host_settled(mark);
	assert_true(gs_order_to_host_pending());
	gs_order_to_host_settled(gs_order_to_host_mark());
	gs_order_to_host_settled(mark);
	assert_false(gs_order_to_host_pending());
}

/* --- Threads that record, capture and end contexts at the same time. */

static CUresult exchange_mode(CUstreamCaptureMode *given)
{
	CUstreamCaptureMode before = thread_mode;

	thread_mode = *given;
	*given = before;
	return CUDA_SUCCESS;
}

static void *begin_capture(void *unused)
{
	gs_order_capture_begins(STREAM(1));
	atomic_store(&done, true);
	return unused;
}

static void *hold(void *unused)
{
	held_cancel = gs_order_hold();
	atomic_store(&done, true);
	return unused;
}

static void *await(void *unused)
{
	gs_order_await();
	atomic_store(&done, true);
	return unused;
}

/* Starts the thread and says whether it got to its end within 20 ms. */
static bool ends_soon(pthread_t *thread, void *(*what)(void *))
{
	atomic_store(&done, false);
	assert_int_equal(pthread_create(thread, NULL, what, NULL), 0);
	usleep(20000);
	return atomic_load(&done);
}

static bool enters(void)
{
	int cancel;

	if (!gs_order_enter(&cancel))
		return false;
	gs_order_leave(cancel);
	return true;
}

static bool holds(void)
{
	return !enters();
}

/* The other thread may take long to get there on a busy machine. */
static bool soon(bool (*what)(void))
{
	for (unsigned i = 0; i < 10000 && !what(); i++)
		usleep(1000);
	return what();
}

static void h9_nobody_records_while_a_capture_is_open(void **state)
{
	bool entered;

	(void)state;
	gs_order_capture_begins(STREAM(1));
	entered = enters();
	gs_order_capture_ended(STREAM(1));
	assert_false(entered);
	assert_true(enters());
}

/* In this and the next one nothing is asserted before the threads have ended: they would wait for ever. */
static void h9_a_capture_begins_when_nobody_records(void **state)
{
	bool early, open, entered, entered_after;
	pthread_t thread;
	int cancel;

	(void)state;
	assert_true(gs_order_enter(&cancel));
	early = ends_soon(&thread, begin_capture);
	open = soon(gs_order_capturing);
	entered = enters();
	gs_order_leave(cancel);
	pthread_join(thread, NULL);
	entered_after = enters();
	gs_order_capture_ended(STREAM(1));
	assert_false(early);
	assert_true(open);
	assert_false(entered);
	assert_false(entered_after);
	assert_true(enters());
}

static bool begun(void)
{
	return atomic_load(&done);
}

/* Whether the capture waited; on a busy machine it may have waited long enough before that is seen. */
static bool capture_waits_for_wait(void)
{
	bool early, open, entered;
	pthread_t thread;

	assert_true(gs_order_wait_enter());
	early = ends_soon(&thread, begin_capture);
	open = soon(gs_order_capturing);
	entered = gs_order_wait_enter();
	gs_order_wait_leave();
	pthread_join(thread, NULL);
	gs_order_capture_ended(STREAM(1));
	assert_true(open);
	assert_false(entered);
	assert_true(gs_order_wait_enter());
	gs_order_wait_leave();
	return !early;
}

static void h9_a_capture_begins_when_nobody_waits_for_a_context(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		if (capture_waits_for_wait())
			return;
	fail();
}

/* What the device waits for may be what the thread does that would begin the capture. */
static void h9_a_capture_does_not_wait_for_ever(void **state)
{
	pthread_t thread;
	bool late;

	(void)state;
	assert_true(gs_order_wait_enter());
	ends_soon(&thread, begin_capture);
	late = soon(begun);
	gs_order_wait_leave();
	pthread_join(thread, NULL);
	gs_order_capture_ended(STREAM(1));
	assert_true(late);
}

static void h6_a_context_ends_when_nobody_records(void **state)
{
	bool early, refused, entered, made_early;
	pthread_t thread, maker;
	int cancel;

	(void)state;
	assert_true(gs_order_enter(&cancel));
	early = ends_soon(&thread, hold);
	refused = soon(holds);
	gs_order_leave(cancel);
	pthread_join(thread, NULL);
	entered = enters();
	made_early = ends_soon(&maker, await);
	gs_order_let_go(held_cancel);
	pthread_join(maker, NULL);
	assert_false(early);
	assert_true(refused);
	assert_false(entered);
	assert_false(made_early);
	assert_true(enters());
}

static void h6_a_context_ends_when_its_memory_is_in_the_books(void **state)
{
	bool early;
	pthread_t thread;
	int cancel;

	(void)state;
	cancel = gs_order_memory_enter();
	early = ends_soon(&thread, hold);
	gs_order_memory_leave(cancel);
	pthread_join(thread, NULL);
	gs_order_let_go(held_cancel);
	assert_false(early);
}

static void h9_calls_that_touch_no_stream_are_always_relaxed(void **state)
{
	struct gs_order_relaxed saved;

	(void)state;
	gs_driver.cuThreadExchangeStreamCaptureMode = exchange_mode;
	saved = gs_order_relaxed_begin();
	assert_int_equal(thread_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	gs_order_relaxed_end(saved);
	assert_int_equal(thread_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* The last one: what is lost stays so. */
static void h9_a_capture_that_cannot_be_noted_is_open_for_good(void **state)
{
	uintptr_t count = 0;

	(void)state;
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 1);
	while (gsb_fault_fired(GSB_FAULT_SLAB) == 0 && count < 100000)
		capture_begin(GS_FN_cuStreamBeginCapture_v2, STREAM(count++));
	while (count > 0)
		capture_end(GS_FN_cuStreamEndCapture, STREAM(--count), CUDA_SUCCESS);
	assert_int_equal(gsb_fault_fired(GSB_FAULT_SLAB), 1);
	assert_true(gs_order_capturing());
	assert_false(enters());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_streams_capture_and_end),
	    cmocka_unit_test(a_capture_that_does_not_begin_is_not_open),
	    cmocka_unit_test(another_threads_capture_goes_on),
	    cmocka_unit_test(the_per_thread_stream_has_two_names),
	    cmocka_unit_test(a_context_takes_its_captures_along),
	    cmocka_unit_test(what_a_wait_saw_is_settled),
	    {"H9 nobody records while a capture is open", h9_nobody_records_while_a_capture_is_open, NULL, NULL, NULL},
	    {"H9 a capture begins when nobody records", h9_a_capture_begins_when_nobody_records, NULL, NULL, NULL},
	    {"H9 a capture begins when nobody waits for a context", h9_a_capture_begins_when_nobody_waits_for_a_context, NULL,
	     NULL, NULL},
	    {"H9 a capture does not wait for ever", h9_a_capture_does_not_wait_for_ever, NULL, NULL, NULL},
	    {"H6 a context ends when nobody records", h6_a_context_ends_when_nobody_records, NULL, NULL, NULL},
	    {"H6 a context ends when its memory is in the books", h6_a_context_ends_when_its_memory_is_in_the_books, NULL, NULL,
	     NULL},
	    {"H9 calls that touch no stream are always relaxed", h9_calls_that_touch_no_stream_are_always_relaxed, NULL,
	     NULL, NULL},
	    {"H9 a capture that cannot be noted is open for good", h9_a_capture_that_cannot_be_noted_is_open_for_good, NULL, NULL,
	     NULL},
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	gs_driver.cuCtxGetCurrent = current_get;
	gs_driver.cuStreamIsCapturing = is_capturing;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
