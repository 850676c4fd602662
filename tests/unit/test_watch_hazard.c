/* shim/watch/causal.c, hazard.c, serial.c and crossing.c: what is ordered with what, which uses of memory meet, and what
 * streams, lives of memory and pairs of places are told apart by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/core/counter.h"
#include "shim/stack/stack.h"
#include "shim/stack/table.h"
#include "shim/watch/crossing.h"
#include "shim/watch/hazard.h"
#include "shim/watch/launch.h"
#include "shim/watch/serial.h"

static uint64_t now; /* the last moment */

static uint64_t tick(void)
{
	uint64_t ticks = gs_ticks();

	now = ticks > now ? ticks : now + 1;
	return now;
}

/* --- streams and work ---------------------------------------------------------------------------------------------- */

static struct gs_work_stream stream_new(uint32_t context, bool blocking, bool legacy)
{
	static uint64_t last_id = 500;

	return (struct gs_work_stream){.id = ++last_id, .context = context, .blocking = blocking, .legacy = legacy};
}

static struct gs_work_stream stream(void)
{
	return stream_new(10, false, false);
}

static CUevent event_new(void)
{
	static uintptr_t last = 0x10000;

	return (CUevent)(last += 8);
}

static struct gs_causal_point work(const struct gs_work_stream *stream)
{
	struct gs_causal_point point = {.when = 0};

	assert_true(gs_causal_work(stream, tick(), &point));
	return point;
}

static void record(CUevent event, const struct gs_work_stream *stream)
{
	gs_causal_recorded(event, stream, tick());
}

static void waits(const struct gs_work_stream *stream, CUevent event)
{
	gs_causal_waits(stream, event, tick());
}

static bool before(struct gs_causal_point earlier, struct gs_causal_point later)
{
	return gs_causal_before(&earlier, &later);
}

/* --- order --------------------------------------------------------------------------------------------------------- */

static void streams_are_not_ordered_by_themselves(void **state)
{
	struct gs_work_stream a = stream(), b = stream();
	struct gs_causal_point first = work(&a), second = work(&b), third = work(&a);

	(void)state;
	assert_false(before(first, second));
	assert_true(before(first, third));
	assert_false(gs_causal_done(&first));
	gs_causal_stream_done(&a, now);
	assert_true(before(first, second));
	assert_true(gs_causal_done(&third));
	assert_false(gs_causal_done(&second));
}

static void events_order(void **state)
{
	struct gs_work_stream a = stream(), b = stream(), c = stream();
	struct gs_causal_point first = work(&a), second, third;
	CUevent event = event_new();

	(void)state;
	record(event, &a);
	second = work(&a);
	waits(&b, event);
	third = work(&b);
	assert_true(before(first, third));
	assert_false(before(second, third));
	/* One that nobody recorded here may stand for anything. */
	waits(&c, event_new());
	third = work(&c);
	assert_true(before(second, third));
	gs_causal_event_done(event, now);
	assert_true(gs_causal_done(&first));
	assert_false(gs_causal_done(&second));
	gs_causal_event_gone(event);
	gs_causal_event_done(event, now);
	assert_true(gs_causal_done(&second));
}

static void the_legacy_stream_orders_its_context(void **state)
{
	struct gs_work_stream blocking = stream_new(10, true, false), other = stream_new(10, true, false);
	struct gs_work_stream legacy = stream_new(10, false, true), free = stream();
	struct gs_work_stream elsewhere = stream_new(11, true, false), their_legacy = stream_new(11, false, true);
	struct gs_causal_point first = work(&blocking), on_free = work(&free), their_first = work(&elsewhere);
	struct gs_causal_point between = work(&legacy), last = work(&other), theirs;

	(void)state;
	assert_true(before(first, between));
	assert_true(before(first, last));
	assert_true(before(between, last));
	assert_false(before(on_free, between));
	assert_false(before(on_free, last));
	assert_false(before(their_first, last));
	theirs = work(&their_legacy);
	last = work(&other);
	assert_false(before(theirs, last));
}

static void a_slot_goes_to_another_stream(void **state)
{
	struct gs_work_stream a = stream(), b = stream(), others[GS_CAUSAL_STREAMS];
	struct gs_causal_point first, second;

	(void)state;
	gs_causal_all_done(tick());
	first = work(&a);
	second = work(&b);
	assert_false(before(first, second));
	gs_causal_stream_done(&b, now);
	for (unsigned i = 0; i < GS_CAUSAL_STREAMS - 1; i++) {
		others[i] = stream();
		work(&others[i]);
	}
	/* Of what it was nothing is known any more. */
	assert_true(before(first, second));
	assert_false(gs_causal_done(&first));
	gs_causal_all_done(tick());
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static uint32_t name(void)
{
	return gs_string_intern("work");
}

static uint64_t found(enum gs_crossing_kind kind)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < gs_crossing_count(); i++) {
		struct gs_crossing crossing;

		gs_crossing_read(i, &crossing);
		if (crossing.kind == kind)
			calls += crossing.calls;
	}
	return calls;
}

static void set(const struct gs_work_stream *stream, uint64_t address, uint64_t size_bytes)
{
	gs_hazard_submitted(stream, name(), 0, tick());
	gs_hazard_set(address, size_bytes);
}

static void copy(const struct gs_work_stream *stream, uint64_t to, uint64_t from, uint64_t size_bytes)
{
	static const struct gs_call call = {.fn = GS_FN_cuMemcpyAsync};
	struct gs_copy copy = gs_copy_on_device(to, from, size_bytes);

	gs_hazard_submitted(stream, name(), 0, tick());
	gs_hazard_copied(&call, &copy);
}

static uint64_t tensor(void)
{
	static uint64_t last = 1ull << 40;

	last += 1u << 20;
	gs_hazard_memory_begins(GS_LIVE_TENSOR, last, 4096);
	return last;
}

/* How many of a kind were found since the last call. */
static uint64_t more(enum gs_crossing_kind kind)
{
	static uint64_t known[GS_CROSSING_KIND_COUNT];
	uint64_t all = found(kind), since = all - known[kind];

	known[kind] = all;
	return since;
}

static void uses_that_meet(void **state)
{
	struct gs_work_stream a = stream(), b = stream(), c = stream();
	uint64_t x = tensor(), y = tensor();

	(void)state;
	set(&a, x, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	set(&b, x, 2048);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 1);
	set(&b, x, 2048); /* each time */
	assert_int_equal(more(GS_CROSSING_UNORDERED), 1);
	/* Two that read are both in the way of one that writes; the rest is not. */
	gs_causal_all_done(tick());
	copy(&a, tensor(), y, 1024);
	copy(&b, tensor(), y, 1024);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	set(&c, y + 1024, 1024);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	set(&c, y, 1024);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 2);
	gs_causal_all_done(tick());
}

static void lives_of_memory(void **state)
{
	struct gs_work_stream a = stream(), b = stream();
	uint64_t x = tensor();

	(void)state;
	more(GS_CROSSING_UNORDERED);
	set(&a, x, 4096);
	gs_hazard_memory_ends(GS_LIVE_TENSOR, x);
	gs_hazard_memory_begins(GS_LIVE_TENSOR, x, 4096);
	set(&b, x, 4096);
	assert_int_equal(more(GS_CROSSING_REUSED), 1);
	set(&b, x, 4096);
	assert_int_equal(more(GS_CROSSING_REUSED), 0);
	/* One that begins within what was, */
	gs_hazard_memory_ends(GS_LIVE_TENSOR, x);
	gs_hazard_memory_begins(GS_LIVE_TENSOR, x + 1024, 4096);
	set(&a, x + 1024, 4096);
	assert_int_equal(more(GS_CROSSING_REUSED), 1);
	/* and one that ends within it. */
	gs_hazard_memory_ends(GS_LIVE_TENSOR, x + 1024);
	gs_hazard_memory_begins(GS_LIVE_TENSOR, x + 512, 4096);
	set(&b, x + 512, 4096);
	assert_int_equal(more(GS_CROSSING_REUSED), 1);
	/* Memory that ended is nobody's. */
	gs_hazard_memory_ends(GS_LIVE_MANAGED, x + 512); /* not of this class */
	set(&a, x + 512, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 1);
	gs_hazard_memory_ends(GS_LIVE_TENSOR, x + 512);
	set(&b, x + 512, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	gs_causal_all_done(tick());
}

/* More blocks than there are records of: the oldest is forgotten, and nothing else. */
static void records_are_given_to_other_blocks(void **state)
{
	enum { RECORDS = 4096 };
	struct gs_work_stream a = stream(), b = stream();
	uint64_t first = tensor(), last = 0;

	(void)state;
	set(&a, first, 4096);
	for (unsigned i = 0; i < RECORDS; i++) {
		last = tensor();
		set(&a, last, 4096);
	}
	more(GS_CROSSING_UNORDERED);
	set(&b, first, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	set(&b, last, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 1);
	gs_causal_all_done(tick());
}

/* Parameters of the kernel of this test: one address. */
static CUresult param_info(CUfunction function, size_t index, size_t *ret_offset, size_t *ret_size)
{
	(void)function;
	*ret_offset = 0;
	*ret_size = sizeof(uint64_t);
	return index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult no_kernel(CUkernel kernel, size_t index, size_t *ret_offset, size_t *ret_size)
{
	(void)kernel;
	(void)index;
	(void)ret_offset;
	(void)ret_size;
	return CUDA_ERROR_INVALID_HANDLE;
}

static void launch(const struct gs_work_stream *stream, uint64_t address)
{
	gs_hazard_submitted(stream, name(), 0, tick());
	gs_hazard_kernel((const void *)0x30, (void *[]){&address}, NULL);
}

/* Work that has memory which the host sees, too, may tell the host that it is done. */
static void memory_that_the_host_sees(void **state)
{
	struct gs_work_stream a = stream(), b = stream();
	uint64_t x = tensor(), host = 0x60000000, managed = 0x61000000;

	(void)state;
	gs_driver.cuFuncGetParamInfo = param_info;
	gs_driver.cuKernelGetParamInfo = no_kernel;
	gs_hazard_memory_begins(GS_LIVE_HOST, host, 4096);
	gs_hazard_memory_begins(GS_LIVE_MANAGED, managed, 4096);
	more(GS_CROSSING_UNORDERED);
	launch(&a, x);
	launch(&a, tensor());
	set(&b, x, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 1);
	gs_causal_all_done(tick());
	launch(&a, x);
	launch(&a, host);
	set(&b, x, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	gs_causal_all_done(tick());
	launch(&a, x);
	copy(&a, managed, tensor(), 4096);
	set(&b, x, 4096);
	assert_int_equal(more(GS_CROSSING_UNORDERED), 0);
	gs_causal_all_done(tick());
}

static void pinned_memory_is_given_back(void **state)
{
	static const struct gs_call call = {.fn = GS_FN_cuMemFreeHost};
	struct gs_work_stream a = stream();
	uint64_t host = 0x70000000, x = tensor();

	(void)state;
	gs_hazard_memory_begins(GS_LIVE_HOST, host, 4096);
	copy(&a, x, host, 4096);
	gs_hazard_unpins(&call, (void *)(uintptr_t)(host + 8));
	assert_int_equal(more(GS_CROSSING_PINNED), 0);
	gs_hazard_unpins(&call, (void *)(uintptr_t)host);
	assert_int_equal(more(GS_CROSSING_PINNED), 1);
	gs_hazard_unpins(&call, (void *)(uintptr_t)host); /* the uses went with it */
	assert_int_equal(more(GS_CROSSING_PINNED), 0);
	copy(&a, x, host, 4096);
	gs_causal_stream_done(&a, tick());
	gs_hazard_unpins(&call, (void *)(uintptr_t)host);
	assert_int_equal(more(GS_CROSSING_PINNED), 0);
}

/* --- what the program may learn ------------------------------------------------------------------------------------- */

/* Whether the call shows the program that what had been submitted is done, as far as we know. */
static bool shows(enum gs_fn fn, enum gs_call_class call_class)
{
	const struct gs_call call = {.fn = fn};
	struct gs_work_stream a = stream();
	struct gs_causal_point point = work(&a);

	gs_hazard_called(&call, call_class);
	return gs_causal_done(&point);
}

static void calls_that_show(void **state)
{
	(void)state;
	assert_true(shows(GS_FN_cuMemFree_v2, GS_CLASS_FREE));
	assert_true(shows(GS_FN_cuMemFreeHost, GS_CLASS_HOST_FREE));
	assert_true(shows(GS_FN_cuCtxRecordEvent, GS_CLASS_CONTEXT_EVENT));
	assert_true(shows(GS_FN_cuLaunchHostFunc, GS_CLASS_HOST_FUNC));
	assert_false(shows(GS_FN_cuMemFreeAsync, GS_CLASS_FREE));
	assert_false(shows(GS_FN_cuMemFreeAsync_ptsz, GS_CLASS_FREE));
	assert_false(shows(GS_FN_cuEventRecord, GS_CLASS_EVENT));
	assert_false(shows(GS_FN_cuEventRecord_ptsz, GS_CLASS_EVENT));
	assert_false(shows(GS_FN_cuEventRecordWithFlags, GS_CLASS_EVENT));
	assert_false(shows(GS_FN_cuEventRecordWithFlags_ptsz, GS_CLASS_EVENT));
	assert_false(shows(GS_FN_cuLaunchKernel, GS_CLASS_LAUNCH));
}

static bool events_are_trusted(void)
{
	struct gs_work_stream a = stream(), b = stream();
	CUevent event = event_new();
	struct gs_causal_point later;

	work(&a);
	record(event, &a);
	later = work(&a);
	waits(&b, event);
	return !before(later, work(&b));
}

static void graphs_that_may_record_events(void **state)
{
	(void)state;
	gs_causal_all_done(tick());
	assert_true(events_are_trusted());
	shows(GS_FN_cuGraphAddKernelNode_v2, GS_CLASS_GRAPH);
	assert_true(events_are_trusted());
	shows(GS_FN_cuGraphAddNode_v2, GS_CLASS_GRAPH);
	assert_false(events_are_trusted());
}

/* --- the legacy stream between others -------------------------------------------------------------------------------- */

static void serial_work(const struct gs_work_stream *stream)
{
	gs_serial_look(stream, name(), 0, tick());
}

static void work_that_the_legacy_stream_keeps_apart(void **state)
{
	struct gs_work_stream a = stream_new(20, true, false), b = stream_new(20, true, false);
	struct gs_work_stream legacy = stream_new(20, false, true), their_legacy = stream_new(21, false, true);
	struct gs_work_stream theirs = stream_new(21, true, false);

	(void)state;
	assert_int_equal(more(GS_CROSSING_SERIALISED), 0);
	serial_work(&a);
	serial_work(&legacy);
	serial_work(&a);
	assert_int_equal(more(GS_CROSSING_SERIALISED), 0); /* the stream's own order */
	serial_work(&b);
	assert_int_equal(more(GS_CROSSING_SERIALISED), 1);
	serial_work(&legacy);
	serial_work(&b); /* behind the work of a */
	assert_int_equal(more(GS_CROSSING_SERIALISED), 1);
	serial_work(&b); /* once */
	assert_int_equal(more(GS_CROSSING_SERIALISED), 0);
	serial_work(&their_legacy);
	serial_work(&theirs);
	assert_int_equal(more(GS_CROSSING_SERIALISED), 0);
	serial_work(&a);
	gs_proven_context(20, now + 1);
	serial_work(&legacy); /* waits for nothing */
	serial_work(&b);
	assert_int_equal(more(GS_CROSSING_SERIALISED), 0);
}

/* --- pairs of places ------------------------------------------------------------------------------------------------ */

static uint32_t pair_hash(const struct gs_crossing *pair)
{
	return gs_hash((uint64_t)pair->stack << 32 | pair->other_stack,
		       ((uint64_t)pair->name << 32 | pair->other_name) * GS_CROSSING_KIND_COUNT + pair->kind);
}

/* These have the same hash. */
static void pairs_are_told_apart(void **state)
{
	static const struct gs_crossing pairs[][2] = {
	    {{1, 200862900, 1, 1, 1, 0, 0, 0, 0, 0}, {4, 200862900, 1, 1, 1, 0, 0, 0, 0, 0}},
	    {{1, 3583651964, 1, 1, 1, 0, 0, 0, 0, 0}, {1, 3718403661, 1, 1, 1, 0, 0, 0, 0, 0}},
	    {{1, 1, 2168766556, 1, 1, 0, 0, 0, 0, 0}, {1, 1, 4117507857, 1, 1, 0, 0, 0, 0, 0}},
	    {{1, 1, 1, 380673001, 1, 0, 0, 0, 0, 0}, {1, 1, 1, 88552378, 1, 0, 0, 0, 0, 0}},
	    {{1, 1, 1, 1, 2319919165, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1829138705, 0, 0, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(pair_hash(&pairs[i][0]), pair_hash(&pairs[i][1]));
		assert_true(gs_crossing_add(&pairs[i][0]));
		assert_true(gs_crossing_add(&pairs[i][1]));
		assert_false(gs_crossing_add(&pairs[i][0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_are_not_ordered_by_themselves),
	    cmocka_unit_test(events_order),
	    cmocka_unit_test(the_legacy_stream_orders_its_context),
	    cmocka_unit_test(a_slot_goes_to_another_stream),
	    cmocka_unit_test(uses_that_meet),
	    cmocka_unit_test(lives_of_memory),
	    cmocka_unit_test(records_are_given_to_other_blocks),
	    cmocka_unit_test(memory_that_the_host_sees),
	    cmocka_unit_test(pinned_memory_is_given_back),
	    cmocka_unit_test(work_that_the_legacy_stream_keeps_apart),
	    cmocka_unit_test(calls_that_show),
	    cmocka_unit_test(graphs_that_may_record_events),
	    cmocka_unit_test(pairs_are_told_apart),
	};

	gs_clock_init();
	gs_counter_init();
	gs_launch_init(64);
	gs_hazard_init(true, false);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("order and hazards", tests, NULL, NULL);
}
