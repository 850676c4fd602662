/* What the allocator remembers of streams, contexts and segments is told apart, and forgotten when it is of no use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/types.h"
#include "tests/lib/gsa_test.h"

/* Fences hold events of the driver, so they go with the news that makes them useless. */
static void fences_go_when_they_are_of_no_use(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	struct gsa_stream stream = fake_stream(1);

	(void)state;
	for (int news = 0; news < 4; news++) {
		uint64_t first = take(bench, 8 * MIB, 1), second = take(bench, 8 * MIB, 1), other;

		fake_submit(&bench->fake, 1);
		give(bench, first, 1);
		other = take(bench, 8 * MIB, 2);
		assert_int_equal(bench->fake.fence_count, 1);
		give(bench, second, 1);
		bench->fake.capturing = news == 3;
		fake_finish(&bench->fake, 1);
		if (news == 0)
			gsa_stream_idle(bench->allocator, 1, UINT64_MAX);
		else if (news == 1)
			gsa_owner_gone(bench->allocator, stream.owner);
		else if (news == 2)
			assert_true(gsa_wait(bench->allocator));
		else
			gsa_stream_ending(bench->allocator, &stream);
		assert_int_equal(bench->fake.fence_count, 0);
		bench->fake.capturing = false;
		give(bench, other, 2);
		gsa_device_idle(bench->allocator, UINT64_MAX);
		gsa_trim(bench->allocator, 0);
	}
	bench_close(bench);
}

/* Streams of which anything is remembered. */
static unsigned remembered(const struct bench *bench)
{
	unsigned count = 0;

	for (const struct gsa_tag *tag = bench->allocator->streamless.next; tag != NULL; tag = tag->next)
		count++;
	return count;
}

static void take_it_back(void *user)
{
	struct bench *bench = user;

	bench->fake.before_fence_stream = NULL;
	take(bench, 8 * MIB, 1);
}

/* Streams come and go by the thousand, so one that has no freed memory leaves nothing behind. */
static void streams_are_forgotten(void **state)
{
	struct gsa_stream stream = fake_stream(1);
	struct bench *bench;

	(void)state;
	for (int way = 0; way < 6; way++) {
		bench = bench_open(fake_options(), GIB);
		fake_submit(&bench->fake, 1);
		give(bench, take(bench, 8 * MIB, 1), 1);
		assert_int_equal(remembered(bench), 1);
		switch (way) {
		case 0: /* it has its memory back */
			take(bench, 8 * MIB, 1);
			break;
		case 1: /* its memory is idle */
			gsa_stream_idle(bench->allocator, 1, UINT64_MAX);
			break;
		case 2: /* it is gone */
			bench->fake.gone[1] = true;
			take(bench, 8 * MIB, 2);
			break;
		case 3: /* it ends during a capture */
			bench->fake.capturing = true;
			gsa_stream_ending(bench->allocator, &stream);
			break;
		case 4: /* it ends, and so does its work */
			gsa_stream_ending(bench->allocator, &stream);
			fake_finish(&bench->fake, 1);
			gsa_trim(bench->allocator, UINT64_MAX);
			break;
		case 5: /* it has its memory back while a fence is tried, in vain */
			bench->fake.capturing = true;
			bench->fake.before_fence_stream = take_it_back;
			bench->fake.before_fence_user = bench;
			take(bench, 8 * MIB, 2);
			break;
		}
		assert_int_equal(remembered(bench), 0);
		bench->fake.capturing = false;
		bench_close(bench);
	}
}

/* What is next to a run, in another segment, is no part of it. */
static void a_run_ends_with_its_segment(void **state)
{
	struct gsa_options options = fake_options();
	uint64_t whole[2];
	struct bench *bench;
	unsigned calls;

	(void)state;
	options.expandable = false;
	bench = bench_open(options, GIB);
	for (unsigned i = 0; i < 2; i++)
		whole[i] = take(bench, 40 * MIB, 1);
	assert_true(whole[0] < whole[1]);
	for (unsigned i = 0; i < 2; i++)
		give(bench, whole[i], 1);
	gsa_device_idle(bench->allocator, UINT64_MAX);
	for (unsigned i = 0; i < 4; i++)
		take(bench, 20 * MIB, 1);
	give(bench, whole[0] + 20 * MIB, 1);
	give(bench, whole[1], 1);
	gsa_device_idle(bench->allocator, UINT64_MAX);
	fake_submit(&bench->fake, 1);
	give(bench, whole[1] + 20 * MIB, 1);
	calls = bench->fake.calls[FAKE_CREATE];
	assert_int_equal(take(bench, 40 * MIB, 1), whole[1]);
	assert_int_equal(bench->fake.calls[FAKE_CREATE], calls);
	bench_close(bench);
}

/* A context that had nothing takes nothing with it. */
static void h6_a_context_that_goes_is_not_another(void **state)
{
	struct gsa_options plain = fake_options();
	uint64_t live, freed;

	(void)state;
	plain.use_vmm = false;
	for (int round = 0; round < 2; round++) {
		struct bench *bench = bench_open(round == 0 ? fake_options() : plain, GIB);

		live = take(bench, 8 * MIB, 0);
		freed = take(bench, 8 * MIB, 1);
		fake_submit(&bench->fake, 1);
		give(bench, freed, 1);
		assert_int_equal(gsa_owner_gone(bench->allocator, 77), 0);
		assert_int_equal(bench_stats(bench)->live_count.now, 1);
		assert_int_equal(bench->stats.pending_bytes.now, 8 * MIB);
		assert_int_not_equal(take(bench, 8 * MIB, 2), freed);
		give(bench, live, 0);
		bench_close(bench);
	}
}

/* Plain memory goes with its context, in use, waited for and idle. */
static void h6_plain_memory_goes_with_its_context(void **state)
{
	struct gsa_options plain = fake_options();
	struct bench *bench;
	uint64_t pieces[3];

	(void)state;
	plain.use_vmm = false;
	bench = bench_open(plain, GIB);
	for (unsigned i = 0; i < 3; i++)
		pieces[i] = take(bench, 8 * MIB, 0);
	give(bench, pieces[0], 0);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	fake_submit(&bench->fake, 1);
	give(bench, pieces[1], 1);
	assert_int_equal(bench_stats(bench)->idle_bytes.now, 8 * MIB);
	assert_int_equal(bench->stats.pending_bytes.now, 8 * MIB);
	bench->fake.plain_count = 0; /* the driver frees it with the context */
	bench->fake.used_bytes = 0;
	assert_int_equal(gsa_owner_gone(bench->allocator, 1), 1);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 0);
	assert_int_equal(bench->stats.live_count.now, 0);
	bench_close(bench);
}

/* Whatever way there is from an id to what was freed on the stream. */
static void streams_are_told_apart(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t first = take(bench, 8 * KIB, 1);

	(void)state;
	fake_submit(&bench->fake, 1);
	give(bench, first, 1);
	for (uint64_t id = FAKE_STREAMS; id < 500; id++)
		assert_int_not_equal(take(bench, 8 * KIB, id), first);
	assert_int_equal(take(bench, 8 * KIB, 1), first);
	bench_close(bench);
}

/* Pieces too small to be asked about each are asked about before anybody waits. */
static void small_pieces_are_asked_before_a_wait(void **state)
{
	struct bench *bench = bench_open(fake_options(), 8 * MIB);
	uint64_t pieces[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		pieces[i] = take(bench, MIB, i + 1);
	for (unsigned i = 0; i < 8; i++)
		give(bench, pieces[i], i + 1);
	take(bench, 8 * MIB, 9);
	assert_int_equal(bench->fake.calls[FAKE_FENCE_WAIT], 0);
	bench_close(bench);
}

/* What must be an allocation of its own is one also when there is no other memory but a larger one that is kept. */
static void an_exact_request_is_no_part_of_what_is_kept(void **state)
{
	struct gsa_request request = {.size_bytes = 30 * MIB, .origin = GSA_ORIGIN_LEGACY, .owner = 1, .plain = true};
	struct gsa_options options = fake_options();
	struct gsa_block_info block;
	struct bench *bench;

	(void)state;
	options.use_vmm = false;
	bench = bench_open(options, 64 * MIB);
	give(bench, take(bench, 40 * MIB, 0), 0);
	gsa_device_idle(bench->allocator, UINT64_MAX);
	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), GS_OK);
	assert_int_equal(block.segment_bytes, 30 * MIB);
	assert_int_equal(bench->fake.calls[FAKE_PLAIN_FREE], 1);
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fences_go_when_they_are_of_no_use),
	    cmocka_unit_test(streams_are_forgotten),
	    cmocka_unit_test(a_run_ends_with_its_segment),
	    cmocka_unit_test(h6_a_context_that_goes_is_not_another),
	    cmocka_unit_test(h6_plain_memory_goes_with_its_context),
	    cmocka_unit_test(streams_are_told_apart),
	    cmocka_unit_test(small_pieces_are_asked_before_a_wait),
	    cmocka_unit_test(an_exact_request_is_no_part_of_what_is_kept),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator memory of streams", tests, NULL, NULL);
}
