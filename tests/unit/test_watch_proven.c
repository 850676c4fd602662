/* shim/watch/proven.c: what one stream, event or context proves is not held for that of another, even where they meet in the
 * tables; a stream that the driver does not tell is known by its handle in its context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/watch/proven.h"

#define MANY 20000u /* more than any table has places */

static struct gs_work_stream stream_new(void)
{
	static uint64_t last_id = 1000000;

	return (struct gs_work_stream){.id = ++last_id};
}

static CUevent event_new(void)
{
	static uintptr_t last = 0x10000;

	return (CUevent)(last += 8);
}

static bool done(const struct gs_work_stream *stream)
{
	return gs_proven_is(stream->id, 0, false, 50);
}

static void streams_are_told_apart(void **state)
{
	struct gs_work_stream stream = stream_new();

	(void)state;
	gs_proven_stream(stream.id, 100);
	assert_true(done(&stream));
	assert_false(gs_proven_is(stream.id, 0, false, 100));
	for (uint64_t id = 1; id < MANY; id++)
		assert_false(gs_proven_is(id, 0, false, 50));
	gs_proven_stream(0, 100);
	assert_false(gs_proven_is(0, 0, false, 50));
}

static void contexts_are_told_apart(void **state)
{
	(void)state;
	gs_proven_context(1, 100);
	gs_proven_context(2, 40);
	assert_true(gs_proven_is(1, 1, false, 99));
	assert_true(gs_proven_is(1, 2, false, 39));
	assert_false(gs_proven_is(1, 2, false, 40));
	assert_false(gs_proven_is(1, 3, false, 39));
	assert_false(gs_proven_is(1, 0, false, 39));
	gs_proven_legacy(&(struct gs_work_stream){.id = 7, .context = 3, .legacy = true}, 100);
	assert_true(gs_proven_is(1, 3, true, 99));
	assert_false(gs_proven_is(1, 3, false, 99));
	assert_false(gs_proven_is(1, 4, true, 99));
}

static void an_event_shows_its_own_stream(void **state)
{
	CUevent event = event_new();
	struct gs_work_stream stream = stream_new(), captured = {.captured = true};

	(void)state;
	gs_proven_event_recorded(event, &stream, 100);
	for (unsigned i = 0; i < MANY; i++)
		gs_proven_event_done(event_new());
	assert_false(done(&stream));
	for (unsigned i = 0; i < MANY; i++)
		gs_proven_event_recorded(event_new(), &captured, 100);
	for (unsigned i = 0; i < MANY; i++)
		gs_proven_event_gone(event_new());
	gs_proven_event_done(event);
	assert_true(done(&stream));
}

static void an_event_that_is_gone_or_captured_shows_nothing(void **state)
{
	struct gs_work_stream streams[] = {stream_new(), stream_new()}, captured = {.captured = true};
	CUevent events[] = {event_new(), event_new()};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		gs_proven_event_recorded(events[i], &streams[i], 100);
	gs_proven_event_gone(events[0]);
	gs_proven_event_recorded(events[1], &captured, 100);
	for (unsigned i = 0; i < 2; i++) {
		gs_proven_event_done(events[i]);
		assert_false(done(&streams[i]));
	}
}

static void what_a_stream_waited_for_is_done_with_it(void **state)
{
	struct gs_work_stream first = stream_new(), second = stream_new(), none = {.id = 0};
	CUevent event = event_new(), own = event_new();

	(void)state;
	gs_proven_event_recorded(event, &first, 100);
	gs_proven_event_recorded(own, &second, 100);
	for (unsigned i = 0; i < MANY; i++) {
		gs_proven_stream_waits(&second, event_new(), 200 + i);
		gs_proven_stream(second.id, 201 + i);
		assert_false(done(&first));
	}
	gs_proven_stream_waits(&none, event, 40000);
	gs_proven_stream_waits(&second, event, 40000);
	for (unsigned i = 0; i < 64; i++)
		gs_proven_stream_waits(&second, own, 40000); /* for itself, which is nothing to remember */
	gs_proven_stream(second.id, 40000);
	assert_false(done(&first));
	gs_proven_stream(second.id, 40001);
	assert_true(done(&first));
}

static CUresult context_current(CUcontext *ret_context)
{
	*ret_context = (CUcontext)0x7770;
	return CUDA_SUCCESS;
}

static CUresult stream_flags(CUstream stream, unsigned int *ret_flags)
{
	(void)stream;
	*ret_flags = CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

/* This driver tells no ids. */
static void pending_work(void **state)
{
	struct gs_work_stream stream, other;
	CUevent event = event_new();
	uint32_t context;
	bool followed;

	(void)state;
	gs_driver.cuCtxGetCurrent = context_current;
	gs_driver.cuStreamGetFlags = stream_flags;
	gs_work_stream_find((CUstream)0x5550, false, &stream);
	gs_work_stream_find((CUstream)0x6660, false, &other);
	assert_true(stream.made_up);
	assert_int_equal(stream.context, 0x777);
	assert_int_not_equal(stream.id, other.id);
	gs_proven_submitted(&stream, 100);
	gs_proven_event_recorded(event, &stream, 101);
	assert_true(gs_proven_stream_pending(&stream));
	assert_false(gs_proven_stream_pending(&other));
	assert_true(gs_proven_context_pending(0x777));
	assert_true(gs_proven_event_pending(event, &context, &followed));
	assert_int_equal(context, 0x777);
	assert_false(followed);
	gs_proven_submitted(&other, 102);
	assert_true(gs_proven_event_pending(event, &context, &followed));
	assert_false(followed);
	gs_proven_stream(other.id, 103);
	gs_proven_event_done(event);
	assert_false(gs_proven_event_pending(event, &context, &followed));
	assert_false(gs_proven_stream_pending(&stream));
	assert_false(gs_proven_context_pending(0x777));
	for (unsigned i = 0; i < MANY; i++)
		assert_true(gs_proven_event_pending(event_new(), &context, &followed));
	assert_false(followed);
	event = event_new();
	gs_proven_submitted(&stream, 200);
	gs_proven_event_recorded(event, &stream, 201);
	gs_proven_submitted(&stream, 202);
	assert_true(gs_proven_stream_pending(&stream));
	assert_true(gs_proven_event_pending(event, &context, &followed));
	assert_true(followed);
}

static struct gs_work_stream stream_found(unsigned number)
{
	struct gs_work_stream stream;

	gs_work_stream_find((CUstream)(uintptr_t)(0x100000 + number * 16), false, &stream);
	return stream;
}

/* However many there were: those that are done no longer count, one that is not does. */
static void streams_that_have_ended(void **state)
{
	struct gs_work_stream stream, other = stream_found(MANY), left = stream_found(MANY + 1);
	uint64_t when = 1000;

	(void)state;
	gs_driver.cuCtxGetCurrent = context_current;
	gs_driver.cuStreamGetFlags = stream_flags;
	gs_proven_context(0x777, when);
	for (unsigned i = 0; i < MANY; i++) {
		stream = stream_found(i);
		gs_proven_submitted(&stream, ++when);
		assert_true(gs_proven_stream_pending(&stream));
		gs_proven_stream(stream.id, ++when);
		gs_proven_stream_ends(stream.id);
		assert_false(gs_proven_context_pending(0x777));
	}
	assert_true(gs_proven_is(stream.id, 0, false, when - 1)); /* it is known on */
	gs_proven_submitted(&left, ++when);
	gs_proven_stream_ends(left.id);
	for (unsigned i = 0; i < 200; i++) {
		stream = stream_found(i);
		gs_proven_submitted(&stream, ++when);
		gs_proven_stream(stream.id, ++when);
		gs_proven_stream_ends(stream.id);
		assert_true(gs_proven_context_pending(0x777));
	}
	gs_proven_stream(left.id, ++when);
	assert_false(gs_proven_context_pending(0x777));
	for (unsigned i = 0; i < 1000; i++) { /* of which nobody has waited for one */
		stream = stream_found(i);
		gs_proven_submitted(&stream, ++when);
		gs_proven_stream_ends(stream.id);
		assert_true(gs_proven_context_pending(0x777));
	}
	gs_proven_context(0x777, ++when);
	for (unsigned i = 1000; i < 1100; i++)
		gs_proven_stream_ends(stream_found(i).id);
	assert_false(gs_proven_context_pending(0x777));
	gs_proven_submitted(&other, ++when);
	assert_true(gs_proven_context_pending(0x777));
	gs_proven_context_gone(0x777);
	assert_false(gs_proven_context_pending(0x777));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_are_told_apart),
	    cmocka_unit_test(contexts_are_told_apart),
	    cmocka_unit_test(an_event_shows_its_own_stream),
	    cmocka_unit_test(an_event_that_is_gone_or_captured_shows_nothing),
	    cmocka_unit_test(what_a_stream_waited_for_is_done_with_it),
	    cmocka_unit_test(pending_work),
	    cmocka_unit_test(streams_that_have_ended),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("what is proven", tests, NULL, NULL);
}
