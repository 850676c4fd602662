/* Stream order: who may have freed memory, and when. Hazards H1 to H9 of the design, as far as they are the
 * allocator's. Stream 0 stands for "without a stream". */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/gsa_test.h"

static void same_stream_reuses_at_once(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	unsigned calls;

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	calls = bench->fake.call_count;
	assert_int_equal(take(bench, 8 * MIB, 1), first);
	assert_int_equal(bench->fake.call_count, calls);
	assert_int_equal(bench_stats(bench)->hits, 1);
	bench_close(bench);
}

static void other_stream_waits_for_the_fence(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	uint64_t second;

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	second = take(bench, 8 * MIB, 2);
	assert_int_not_equal(second, first);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	assert_int_equal(bench_stats(bench)->cross_stream, 1);
	bench_close(bench);
}

static void other_stream_waits_for_the_fence_of_plain_memory_too(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t first;

	(void)state;
	options.use_vmm = false;
	bench = bench_open(options, GIB);
	first = take(bench, 8 * MIB, 1);
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	assert_int_not_equal(take(bench, 8 * MIB, 2), first);
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	bench_close(bench);
}

/* Freed without a stream, memory may wait for all of them: of that not more than a share of what lives. */
static void h2_a_program_does_not_run_ahead(void **state)
{
	for (unsigned may = 0; may < 2; may++) {
		struct gsa_options options = fake_options();
		uint64_t blocks[6];
		struct gsa_note note;
		struct bench *bench;

		options.runs_ahead = may != 0;
		bench = bench_open(options, 4 * GIB);
		fake_submit(&bench->fake, 1);
		for (unsigned i = 0; i < 6; i++)
			blocks[i] = take(bench, 100 * MIB, 0);
		for (unsigned i = 0; i < 3; i++) {
			assert_false(gsa_ran_ahead(bench->allocator));
			assert_int_equal(gsa_free_held(bench->allocator, blocks[i], NULL, &note), GS_OK);
		}
		assert_int_equal(gsa_ran_ahead(bench->allocator), !may);
		assert_int_equal(gsa_free_held(bench->allocator, blocks[3], NULL, &note), may ? GS_OK : GS_E_NOT_FOUND);
		if (!may)
			give(bench, blocks[3], 0);
		fake_finish(&bench->fake, 1);
		gsa_wait(bench->allocator);
		assert_false(gsa_ran_ahead(bench->allocator));
		bench_close(bench);
	}
	(void)state;
}

/* What is freed on another stream than it was allocated on is for others: its fence, recorded at the free, is done
 * before what that stream does next. */
static void a_fence_at_the_free_is_done_before_later_work(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	struct gsa_stream other = fake_stream(2);
	struct gsa_note note;

	(void)state;
	fake_submit(&bench->fake, 2);
	assert_int_equal(gsa_free_held(bench->allocator, first, &other, &note), GS_E_NOT_FOUND);
	give(bench, first, 2);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	fake_finish(&bench->fake, 2);
	fake_submit(&bench->fake, 2);
	assert_int_equal(take(bench, 8 * MIB, 1), first);
	bench_close(bench);
}

static void what_stays_on_its_stream_needs_no_fence(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);

	(void)state;
	give(bench, take(bench, 8 * MIB, 1), 1);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 0);
	bench_close(bench);
}

/* Idle memory beside a block that is freed on a busy stream stays idle, though it was once freed there too. */
static void idle_memory_is_not_drawn_into_what_is_pending(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 32 * MIB, 1);
	uint64_t second = take(bench, 4 * MIB, 1);

	(void)state;
	give(bench, first, 2);
	gsa_trim(bench->allocator, UINT64_MAX); /* looks for what is idle */
	assert_int_equal(bench_stats(bench)->idle_bytes.now, 32 * MIB);
	fake_submit(&bench->fake, 2);
	give(bench, second, 2);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 4 * MIB);
	assert_int_equal(take(bench, 32 * MIB, 3), first);
	bench_close(bench);
}

static void a_fence_covers_no_later_free(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	uint64_t wall = take(bench, 2 * MIB, 1);
	uint64_t later = take(bench, 16 * MIB, 1);

	(void)state;
	give(bench, first, 1);
	fake_submit(&bench->fake, 1);
	take(bench, 10 * MIB, 2); /* records a fence for the first */
	fake_finish(&bench->fake, 1);
	fake_submit(&bench->fake, 1);
	give(bench, later, 1); /* not covered by it */
	gsa_trim(bench->allocator, UINT64_MAX);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 16 * MIB);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	give(bench, wall, 1);
	bench_close(bench);
}

static void h2_legacy_takes_only_idle_memory(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	assert_int_not_equal(take(bench, 8 * MIB, 0), first);
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, 8 * MIB, 0), first);
	bench_close(bench);
}

static void h2_legacy_free_waits_for_every_stream(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 0);

	(void)state;
	fake_submit(&bench->fake, 1);
	fake_submit(&bench->fake, 2);
	give(bench, first, 0);
	assert_int_not_equal(take(bench, 8 * MIB, 0), first);
	fake_finish(&bench->fake, 1);
	assert_int_not_equal(take(bench, 8 * MIB, 1), first);
	fake_finish(&bench->fake, 2);
	assert_int_equal(take(bench, 8 * MIB, 0), first);
	assert_true(bench->fake.calls[FAKE_FENCE_ALL] > 0);
	bench_close(bench);
}

static void h6_a_destroyed_stream_strands_nothing(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	gsa_stream_ending(bench->allocator, &stream);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	bench->fake.gone[1] = true;
	assert_int_not_equal(take(bench, 8 * MIB, 2), first);
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	bench_close(bench);
}

static void h6_memory_of_no_stream_is_fenced_before_a_stream_ends(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 8 * MIB, 0);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 0);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_ALL], 0);
	gsa_stream_ending(bench->allocator, &stream);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_ALL], 1);
	gsa_stream_ending(bench->allocator, &stream);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_ALL], 1);
	bench_close(bench);
}

static void h6_an_ending_that_cannot_be_fenced_needs_all_streams(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	fake_submit(&bench->fake, 3);
	give(bench, first, 1);
	bench->fake.capturing = true;
	gsa_stream_ending(bench->allocator, &stream);
	bench->fake.capturing = false;
	fake_finish(&bench->fake, 1);
	assert_int_not_equal(take(bench, 8 * MIB, 2), first);
	fake_finish(&bench->fake, 3);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1); /* the one that was forbidden */
	bench_close(bench);
}

static void h6_a_stream_that_went_unseen_strands_nothing(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	give(bench, first, 1);
	bench->fake.gone[1] = true;
	assert_int_equal(take(bench, 16 * MIB, 2), first); /* joined with new memory behind it */
	assert_int_equal(bench->fake.calls[FAKE_FENCE_ALL], 1);
	bench_close(bench);
}

static void h6_memory_dies_with_its_context(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = {.id = 5, .handle = 5, .owner = 77};
	struct gsa_request request = {
	    .size_bytes = 4 * MIB, .origin = GSA_ORIGIN_ASYNC, .stream = &stream, .owner = 77};
	struct gsa_block_info pooled;
	struct gsa_block_info block;
	struct gsa_block_info plain;
	struct gsa_block_info freed;

	(void)state;
	take(bench, MIB, 1);
	fake_submit(&bench->fake, 5);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &freed), GS_OK);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &pooled), GS_OK);
	request.origin = GSA_ORIGIN_LEGACY;
	request.stream = NULL;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	request.plain = true;
	assert_int_equal(gsa_alloc(bench->allocator, &request, &plain), GS_OK);
	assert_int_equal(gsa_free(bench->allocator, freed.address, &stream, NULL), GS_OK);
	bench->fake.plain_count = 0; /* the driver frees it with the context */
	bench->fake.used_bytes -= 4 * MIB;
	assert_int_equal(gsa_owner_gone(bench->allocator, 77), 2);
	assert_int_equal(bench->fake.calls[FAKE_PLAIN_FREE], 0);
	assert_int_equal(gsa_find(bench->allocator, block.address, &block), GS_E_NOT_FOUND);
	assert_int_equal(gsa_find(bench->allocator, pooled.address, &block), GS_OK);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	assert_int_equal(bench->stats.live_count.now, 2);
	assert_int_equal(bench->stats.reserved_bytes.now, bench->fake.used_bytes);
	assert_int_equal(bench->fake.told_bytes, bench->fake.used_bytes);
	bench_close(bench);
}

static void h9_nothing_is_recorded_while_a_capture_forbids_it(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);

	(void)state;
	give(bench, first, 1);
	bench->fake.capturing = true;
	assert_int_not_equal(take(bench, 8 * MIB, 2), first);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 8 * MIB);
	bench->fake.capturing = false;
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	bench_close(bench);
}

static void idle_news_reach_only_what_was_freed_before(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * MIB, 1);
	uint64_t second = take(bench, 4 * MIB, 2);
	uint64_t before;

	(void)state;
	give(bench, first, 1);
	before = gsa_free_serial(bench->allocator);
	give(bench, second, 2);
	gsa_device_idle(bench->allocator, before);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 4 * MIB);
	gsa_stream_idle(bench->allocator, 1, gsa_free_serial(bench->allocator));
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 4 * MIB);
	gsa_stream_idle(bench->allocator, 2, gsa_free_serial(bench->allocator));
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

static void join(uint64_t before_id, uint64_t rest_pending_bytes)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t a = take(bench, 4 * MIB, 1);
	uint64_t b = take(bench, 4 * MIB, 1);
	uint64_t c = take(bench, 4 * MIB, 1);
	uint64_t reserved_bytes;

	take(bench, 4 * MIB, 1);
	give(bench, a, before_id);
	give(bench, c, before_id);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	fake_submit(&bench->fake, 1);
	give(bench, b, 1);
	reserved_bytes = bench_stats(bench)->reserved_bytes.now;
	assert_int_equal(take(bench, 11 * MIB, 1), a);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, reserved_bytes);
	assert_int_equal(bench->stats.idle_bytes.now, MIB - rest_pending_bytes); /* of c */
	assert_int_equal(bench->stats.pending_bytes.now, rest_pending_bytes);
	bench_close(bench);
}

static void a_stream_joins_its_own_and_idle_neighbours(void **state)
{
	(void)state;
	join(2, 0); /* what was another's stays as idle as it was */
	join(1, MIB);
	join(0, 0);
}

/* What lies between two pieces of a stream may become the stream's own later: then all three are one. */
static void pieces_of_a_stream_meet(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t pieces[5];
	uint64_t before;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		pieces[i] = take(bench, 4 * MIB, 1);
	give(bench, pieces[1], 2);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	fake_submit(&bench->fake, 1);
	give(bench, pieces[2], 1);
	before = gsa_free_serial(bench->allocator);
	give(bench, pieces[0], 1);
	gsa_stream_idle(bench->allocator, 1, before);
	gsa_check(bench->allocator);
	give(bench, pieces[3], 1);
	gsa_check(bench->allocator);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 16 * MIB);
	bench_close(bench);
}

/* A stream was about to end and did not. What turns out to be idle beside what it has freed since stays with that. */
static void what_is_idle_follows_its_stream(void **state)
{
	struct gsa_stream stream = fake_stream(1);

	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		struct bench *bench = bench_open(fake_options(), GIB);
		uint64_t pieces[3], before;

		for (unsigned i = 0; i < 3; i++)
			pieces[i] = take(bench, 4 * MIB, 1);
		fake_submit(&bench->fake, 1);
		give(bench, pieces[first], 1);
		bench->fake.capturing = true; /* nothing can be recorded */
		gsa_stream_ending(bench->allocator, &stream);
		bench->fake.capturing = false;
		before = gsa_free_serial(bench->allocator);
		give(bench, pieces[1 - first], 1);
		gsa_device_idle(bench->allocator, before);
		assert_int_equal(bench_stats(bench)->pending_bytes.now, 8 * MIB);
		assert_int_equal(take(bench, 8 * MIB, 1), pieces[0]);
		bench_close(bench);
	}
}

static void fences_of_a_stream_are_few(void **state)
{
	struct bench *bench = bench_open(fake_options(), 8 * GIB);

	(void)state;
	fake_submit(&bench->fake, 1);
	for (unsigned round = 0; round < 30; round++) {
		give(bench, take(bench, (4 + 2 * round) * MIB, 1), 1);
		take(bench, 2 * MIB, 2);
	}
	assert_int_equal(bench->fake.fence_count, 8);
	fake_finish(&bench->fake, 1);
	gsa_trim(bench->allocator, UINT64_MAX);
	assert_int_equal(bench->fake.fence_count, 0);
	assert_int_equal(bench_stats(bench)->pending_bytes.now, 0);
	bench_close(bench);
}

static void many_streams_and_fences(void **state)
{
	struct bench *bench = bench_open(fake_options(), 8 * GIB);
	uint64_t blocks[FAKE_STREAMS];

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		for (uint64_t id = 1; id < FAKE_STREAMS; id++) {
			blocks[id] = take(bench, (id % 7 + 2) * MIB, id);
			fake_submit(&bench->fake, id);
		}
		for (uint64_t id = 1; id < FAKE_STREAMS; id++) {
			give(bench, blocks[id], id);
			if ((id + round) % 3 == 0)
				fake_finish(&bench->fake, id);
		}
		take(bench, 16 * MIB, round % 2);
	}
	bench_close(bench);
}

/* What the request may have of one segment serves it, whatever is beside it in the segment before. */
static void a_run_begins_with_its_segment(void **state)
{
	struct gsa_options options = fake_options();
	struct bench *bench;
	uint64_t before, first, last;

	(void)state;
	options.expandable = false;
	bench = bench_open(options, GIB);
	before = take(bench, 4 * MIB, 1);
	give(bench, take(bench, 8 * MIB, 2), 2);
	gsa_trim(bench->allocator, UINT64_MAX);
	first = take(bench, 4 * MIB, 2);
	last = take(bench, 4 * MIB, 1);
	assert_int_equal(first, before + 4 * MIB);
	assert_int_equal(last, first + 4 * MIB);
	give(bench, first, 2);
	gsa_trim(bench->allocator, UINT64_MAX);
	fake_submit(&bench->fake, 1);
	give(bench, before, 1);
	give(bench, last, 1);
	assert_int_equal(take(bench, 8 * MIB, 1), first);
	bench_close(bench);
}

/* Another thread is about to record on the stream, whose handle it has read, when the program destroys the stream. The
 * end of the stream must wait for that, or the fence is recorded on whatever has the handle next. */
struct late_record {
	_Atomic bool begun;
	_Atomic bool ended; /* gsa_stream_ending has returned */
	_Atomic bool too_late;
};

static void record_late(void *user)
{
	struct late_record *late = user;

	if (atomic_exchange(&late->begun, true))
		return;
	for (unsigned ms = 0; ms < 30 && !atomic_load(&late->ended); ms++)
		usleep(1000);
	atomic_store(&late->too_late, atomic_load(&late->ended));
}

static void *want_on_another_stream(void *argument)
{
	struct gsa_block_info block;

	assert_int_equal(fake_alloc(argument, 8 * MIB, 2, &block), GS_OK);
	return NULL;
}

static void h6_a_stream_ends_after_fences_under_way(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct late_record late = {0};
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 8 * MIB, 1);
	pthread_t thread;

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	bench->fake.before_fence_user = &late;
	bench->fake.before_fence_stream = record_late;
	assert_int_equal(pthread_create(&thread, NULL, want_on_another_stream, bench->allocator), 0);
	while (!atomic_load(&late.begun))
		sched_yield();
	gsa_stream_ending(bench->allocator, &stream);
	atomic_store(&late.ended, true);
	pthread_join(thread, NULL);
	assert_false(atomic_load(&late.too_late));
	bench->fake.before_fence_stream = NULL;
	bench->fake.gone[1] = true;
	fake_finish(&bench->fake, 1);
	assert_int_equal(take(bench, 8 * MIB, 2), first);
	bench_close(bench);
}

/* What is still freed on a stream that has ended is nobody's until all streams were asked. */
static void h6_a_free_on_an_ended_stream_needs_all_streams(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);
	uint64_t first = take(bench, 8 * MIB, 1), second = take(bench, 8 * MIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	gsa_stream_ending(bench->allocator, &stream);
	give(bench, second, 1);
	take(bench, 8 * MIB, 2);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_STREAM], 1);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_ALL], 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    {"a stream has its own freed memory back at once", same_stream_reuses_at_once, NULL, NULL, NULL},
	    {"H2 a program does not run ahead of the device, unless it may", h2_a_program_does_not_run_ahead, NULL, NULL,
	     NULL},
	    {"H1 another stream waits for the fence", other_stream_waits_for_the_fence, NULL, NULL, NULL},
	    {"H1 another stream waits for the fence of plain memory", other_stream_waits_for_the_fence_of_plain_memory_too, NULL,
	     NULL, NULL},
	    {"a fence at the free is done before later work", a_fence_at_the_free_is_done_before_later_work, NULL, NULL,
	     NULL},
	    {"what stays on its stream needs no fence", what_stays_on_its_stream_needs_no_fence, NULL, NULL, NULL},
	    {"idle memory is not drawn into what is pending", idle_memory_is_not_drawn_into_what_is_pending, NULL, NULL,
	     NULL},
	    {"H1 a fence covers no later free", a_fence_covers_no_later_free, NULL, NULL, NULL},
	    {"H2 legacy takes only idle memory", h2_legacy_takes_only_idle_memory, NULL, NULL, NULL},
	    {"H2 a legacy free waits for every stream", h2_legacy_free_waits_for_every_stream, NULL, NULL, NULL},
	    {"H6 a destroyed stream strands nothing", h6_a_destroyed_stream_strands_nothing, NULL, NULL, NULL},
	    {"H6 memory of no stream is fenced before a stream ends",
	     h6_memory_of_no_stream_is_fenced_before_a_stream_ends, NULL, NULL, NULL},
	    {"H6 an ending that cannot be fenced needs all streams",
	     h6_an_ending_that_cannot_be_fenced_needs_all_streams, NULL, NULL, NULL},
	    {"H6 a stream that went unseen strands nothing", h6_a_stream_that_went_unseen_strands_nothing, NULL, NULL,
	     NULL},
	    {"H6 a stream ends after fences under way", h6_a_stream_ends_after_fences_under_way, NULL, NULL, NULL},
	    {"H6 a free on an ended stream needs all streams", h6_a_free_on_an_ended_stream_needs_all_streams, NULL,
	     NULL, NULL},
	    {"H6 memory dies with its context", h6_memory_dies_with_its_context, NULL, NULL, NULL},
	    {"H9 nothing is recorded while a capture forbids it", h9_nothing_is_recorded_while_a_capture_forbids_it,
	     NULL, NULL, NULL},
	    {"idle news reach only what was freed before", idle_news_reach_only_what_was_freed_before, NULL, NULL,
	     NULL},
	    {"a stream joins its own and idle neighbours", a_stream_joins_its_own_and_idle_neighbours, NULL, NULL,
	     NULL},
	    {"pieces of a stream meet", pieces_of_a_stream_meet, NULL, NULL, NULL},
	    {"what is idle follows its stream", what_is_idle_follows_its_stream, NULL, NULL, NULL},
	    {"fences of a stream are few", fences_of_a_stream_are_few, NULL, NULL, NULL},
	    {"many streams and fences", many_streams_and_fences, NULL, NULL, NULL},
	    {"a run begins with its segment", a_run_begins_with_its_segment, NULL, NULL, NULL},
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator stream order", tests, NULL, NULL);
}
