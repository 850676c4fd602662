/* Launches that come by in many orders: whatever comes, every stream's launches are made once each, in their order and with their
 * arguments, and the legacy stream's in order with all others of its context. And those that repeat are made by graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/replay.h"
#include "shim/base/os.h"
#include "tests/lib/gsg_fake.h"
#include "tests/lib/pages.h"

enum { LAUNCHES = 20000, SEEDS = 200, KERNELS = 12 };

static struct gsg_replay *replay;
static struct gsg_fake fake;
static struct gsg_fake_launch *launches;
static bool *is_made;
static uint32_t count, gone, matched;
static uint64_t seed, now_ticks;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static int start(void **state)
{
	const struct gsg_replay_options options = {.chunk = 64, .cache_bytes = 64u << 20, .late_ticks = UINT64_MAX >> 1, .eager = true};

	(void)state;
	gsg_fake_init(&fake);
	count = gone = matched = 0;
	now_ticks = 0;
	mapped_bytes = 0;
	no_pages = false;
	replay = calloc(1, sizeof(*replay));
	launches = calloc(LAUNCHES + 4096, sizeof(*launches));
	is_made = calloc(LAUNCHES + 4096, sizeof(*is_made));
	gsg_replay_init(replay, &gsg_fake_ops, &fake, &options);
	return 0;
}

static int end(void **state)
{
	(void)state;
	gsg_replay_forget(replay);
	assert_int_equal(fake.graphs, 0);
	assert_int_equal(fake.execs, 0);
	assert_int_equal(replay->cache.bytes, 0);
	for (uint32_t i = 0; i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++)
		gsb_os_pages_unmap(replay->lanes[i], sizeof(struct gsg_lane));
	if (replay->recording.pages != NULL)
		gsb_os_pages_unmap(replay->recording.pages, 8u << 20);
	assert_int_equal(mapped_bytes, 0);
	free(replay);
	free(launches);
	free(is_made);
	gsg_fake_end(&fake);
	return 0;
}

/* --- the oracle ---------------------------------------------------------------------------------------------------- */

static bool is_before(const struct gsg_shape *a, const struct gsg_shape *b)
{
	return a->context_id == b->context_id && (a->stream == b->stream || a->stream == NULL || b->stream == NULL);
}

/* What was made since the last look: each is the oldest of those of its like, and nothing that comes before it is left. */
static void match_made(void)
{
	for (; matched < fake.made_count; matched++) {
		const struct gsg_fake_made *made = &fake.made[matched];
		uint32_t i = gone;

		while (i < count && (is_made[i] || !is_before(&launches[i].launch.shape, &made->shape)))
			i++;
		if (i == count || !gsg_fake_same(made, &launches[i]))
			fail_msg("seed %llu: launch %u is not made in its turn", (unsigned long long)seed, matched);
		is_made[i] = true;
	}
	while (gone < count && is_made[gone])
		gone++;
}

/* The ring forgets what is no longer held. */
static void forget_before(uint64_t held)
{
	uint64_t limit = held == GSG_NONE_HELD ? count : held / 256;

	match_made();
	if (gone < limit)
		fail_msg("launch %u is neither made nor held, %u are", gone, (uint32_t)limit);
}

/* When a launch comes, no other stream goes on holding what is too old. */
static void check_late(const struct gsg_shape *now)
{
	for (uint32_t i = gone; i < count && count - 1 - i > replay->options.late_ticks; i++) {
		const struct gsg_shape *shape = &launches[i].launch.shape;

		if (!is_made[i] && (shape->stream != now->stream || shape->context_id != now->context_id))
			fail_msg("seed %llu: launch %u is held at %u", (unsigned long long)seed, i, count - 1);
	}
}

static void launch(uint64_t context_id, uintptr_t stream, uintptr_t function, const uint32_t values[], uint32_t value_count, bool first)
{
	uint64_t held;

	gsg_fake_launch(&launches[count], context_id, stream, function, values, value_count, first);
	launches[count].launch.head.put_ticks = ++now_ticks;
	count++;
	held = gsg_replay_run(replay, &launches[count - 1].launch, (uint64_t)(count - 1) * 256);
	forget_before(held);
	check_late(&launches[count - 1].launch.shape);
}

/* Other work: what comes before it has been made. */
static void between(uint64_t context_id, uintptr_t stream)
{
	forget_before(gsg_replay_between(replay, context_id, (void *)stream, stream == 0));
	for (uint32_t i = gone; i < count; i++)
		assert_true(is_made[i] || !is_before(&launches[i].launch.shape,
						     &(struct gsg_shape){.context_id = context_id, .stream = (void *)stream}));
}

static void settle(void)
{
	gsg_replay_settle(replay, GSG_PLAIN_FLUSH);
	match_made();
	assert_int_equal(gone, count);
}

static void check_stats(void)
{
	const struct gsg_replay_stats *stats = &replay->stats;
	uint64_t sum = stats->replayed;

	for (unsigned reason = 0; reason < GSG_PLAIN_COUNT; reason++)
		sum += stats->plain[reason];
	assert_int_equal(sum, stats->launches);
	assert_int_equal(stats->launches, count);
	assert_int_equal(stats->replayed + fake.launches, count);
	assert_true(stats->patched <= fake.patches);
	assert_true(stats->patched == fake.patches || stats->refused != 0);
	assert_int_equal(stats->live, replay->cache.count);
}

static unsigned share(void)
{
	return (unsigned)(100 * replay->stats.replayed / replay->stats.launches);
}

/* --- programs ------------------------------------------------------------------------------------------------------ */

static void test_constant(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1, (uint32_t[]){5, 6}, 2, false);
	settle();
	check_stats();
	assert_true(share() >= 98);
	assert_int_equal(fake.patches, 0);
	assert_int_equal(fake.instantiated, 1);
	assert_true(replay->stats.saved_ns > (int64_t)count * 2500);
}

static void test_ping_pong(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1, (uint32_t[]){i % 2, 1 - i % 2}, 2, false);
	settle();
	check_stats();
	assert_true(share() >= 98);
	assert_int_equal(fake.patches, 0);
}

/* An odd number of launches a step, and pointers that change places each step: executables take turns, each with its own. */
static void test_odd_ping_pong(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1 + i % 45, (uint32_t[]){i / 45 % 2}, 1, false);
	settle();
	check_stats();
	assert_true(share() >= 98);
	assert_true(fake.patches <= 2 * GSG_TRACE_TURNS * 45);
	assert_true(fake.instantiated <= GSG_TRACE_TURNS);
}

static void test_all_change(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1 + i % 3, (uint32_t[]){i, i / 2}, 2, false);
	settle();
	check_stats();
	assert_true(share() >= 98);
	assert_true(fake.patches >= replay->stats.replayed - 2 * 64);
}

/* The program waits after each step: no launch of a step is made alone. */
static void test_steps(void **state)
{
	(void)state;
	for (uint32_t step = 0; step < 100; step++) {
		for (uint32_t i = 0; i < 100; i++)
			launch(1, 8, 1 + i, (uint32_t[]){step}, 1, i == 0 && step > 0);
		settle();
	}
	check_stats();
	assert_true(share() >= 94);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_FLUSH], 0);
	assert_int_equal(replay->stats.built, 2);
}

/* One kernel in a loop, and a wait after each ten. */
static void test_short_steps(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		launch(1, 8, 1, (uint32_t[]){5}, 1, i % 10 == 0);
		if (i % 10 == 9)
			settle();
	}
	check_stats();
	assert_true(share() >= 94);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_FLUSH], 0);
}

/* Training with some evaluation in between. */
static void test_two_kinds(void **state)
{
	(void)state;
	for (uint32_t step = 0; count < LAUNCHES; step++) {
		bool eval = step / 20 % 3 == 2;

		for (uint32_t i = 0; i < 40; i++)
			launch(1, 8, 1 + i, (uint32_t[]){i}, 1, i == 0);
		for (uint32_t i = 0; !eval && i < 70; i++)
			launch(1, 8, 100 + i, (uint32_t[]){i, step}, 2, false);
		settle();
	}
	check_stats();
	assert_true(share() >= 85);
}

struct nest {
	uint32_t length, chunk;
};

/* A kernel in a loop of its own inside another loop: the inner one comes again first, but graphs of it fit nowhere. */
static void test_nest(void **state)
{
	const struct nest *nest = *state;

	replay->options.chunk = nest->chunk;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1 + (i % nest->length == 0), (uint32_t[]){i % nest->length}, 1, i % (15 * nest->length) == 0);
	settle();
	check_stats();
	assert_true(share() >= 90);
}

static void test_aperiodic(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1 + draw(50), (uint32_t[]){i}, 1, false);
	settle();
	check_stats();
	assert_int_equal(replay->stats.replayed, 0);
	assert_int_equal(replay->stats.built, 0);
}

/* Two streams that take turns after each launch, in two contexts as well. */
static void test_streams(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1 + i / 2 % 2, 8 + i % 2 * 8, 1 + i / 4 % 5, (uint32_t[]){i % 2}, 1, false);
	settle();
	check_stats();
	assert_true(share() >= 90);
}

/* Launches of the legacy stream come between those of the others. */
static void test_legacy(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, i / 200 % 2 * 8, 1 + i % 5, (uint32_t[]){i % 2}, 1, false);
	settle();
	check_stats();
	assert_true(share() >= 50);
	assert_true(replay->stats.falls[GSG_PLAIN_ORDER] > 0);
}

/* A step with other work in the middle, on its stream or on the legacy one: its launches are not held for it. */
static void test_between(void **state)
{
	for (uint32_t i = 0; i < 4000; i++) {
		launch(1, 8, 1 + i % 40, (uint32_t[]){5}, 1, false);
		if (i % 40 == 20)
			between(1, *state != NULL ? 0 : 8);
	}
	settle();
	check_stats();
	assert_true(share() >= 90);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_BETWEEN], 0);
}

/* Contexts have nothing to do with each other, whatever their streams are called. */
static void test_contexts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		launch(1 + i / 100 % 2, 0, 1 + i % 5, (uint32_t[]){i % 2}, 1, false);
		if (i % 30 == 7)
			gsg_replay_between(replay, 3, NULL, true);
	}
	assert_true(gone < count);
	settle();
	check_stats();
	assert_true(share() >= 90);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_ORDER], 0);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_BETWEEN], 0);
}

/* Work on other streams that are not in order with this one. */
static void test_beside(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		launch(1, 8, 1 + i % 7, (uint32_t[]){5}, 1, false);
		if (draw(20) == 0)
			forget_before(gsg_replay_between(replay, 1, (void *)16, false));
	}
	settle();
	check_stats();
	assert_true(share() >= 98);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_BETWEEN], 0);
}

/* Two traces that begin alike in the same place: the one that fails does not keep the other from being tried. */
static void test_alike(void **state)
{
	(void)state;
	for (uint32_t step = 0; count < LAUNCHES; step++) {
		for (uint32_t i = 0; i < 40; i++)
			launch(1, 8, 1 + i + (i == 10 && step / 10 % 2 == 1 ? 100 : 0), (uint32_t[]){5}, 1, i == 0);
		settle();
	}
	check_stats();
	assert_true(share() >= 85);
}

/* No pages for what is known of a stream: its launches are made one by one, each in its turn. */
static void test_no_pages(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		launch(1, 0, 1 + i % 7, (uint32_t[]){5}, 1, false);
		no_pages = true;
		if (i % 70 == 3)
			launch(1, 8, 50, (uint32_t[]){5}, 1, false);
		no_pages = false;
	}
	settle();
	check_stats();
	assert_true(share() >= 30);
}

/* What another stream holds for too long is launched. */
static void test_late(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		launch(1, 8, 1, (uint32_t[]){5}, 1, false);
	assert_true(gone < count);
	replay->options.late_ticks = 20;
	for (uint32_t i = 0; i < 22; i++)
		launch(1, 16, 2 + i, (uint32_t[]){5}, 1, false);
	assert_int_equal(gone, count);
	assert_int_equal(replay->stats.falls[GSG_PLAIN_LATE], 1);
	check_stats();
}

/* Each call of the driver that makes, changes or launches graphs is refused once. */
static void test_refused(void **state)
{
	uint64_t calls = 1;

	for (uint64_t at = 1; at <= calls; at += 1 + at / 20) {
		end(state);
		start(state);
		fake.refuse_at = at;
		for (uint32_t i = 0; i < 1200; i++)
			launch(1, 8, 1 + i % 12, (uint32_t[]){i < 500 ? 5 : i}, 1, false);
		settle();
		check_stats();
		assert_true(calls > 1 || fake.calls > 100);
		assert_int_equal(replay->stats.refused <= 1, 1);
		if (fake.calls > calls)
			calls = fake.calls;
	}
}

/* No more is kept than is allowed. */
static void test_limit(void **state)
{
	(void)state;
	replay->cache.limit_bytes = 2u << 20;
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t kind = 0; kind < 12; kind++)
			for (uint32_t i = 0; i < 500; i++) {
				launch(1, 8, 1 + kind * 20 + i % 20, (uint32_t[]){i}, 1, false);
				assert_true(replay->cache.bytes <= (2u << 20) + 700000);
			}
	settle();
	check_stats();
	assert_true(replay->stats.evicted > 0);
}

/* All is forgotten now and then, and found again. */
static void test_forget(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		launch(1, 8, 1 + i % 2, (uint32_t[]){i}, 1, false);
		if (i % 1000 == 999)
			gsg_replay_forget(replay);
	}
	settle();
	check_stats();
	assert_int_equal(replay->stats.forgotten, 20);
	assert_true(share() >= 80);
}

/* Where it does not pay, it rests. */
static void test_does_not_pay(void **state)
{
	(void)state;
	replay->options.eager = false;
	fake.exec_launch_ns = 64 * 3000 + 10000;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8, 1, (uint32_t[]){5}, 1, false);
	settle();
	check_stats();
	assert_true(share() < 30);
	assert_true(replay->stats.suspended > 1);
	assert_true(replay->stats.plain[GSG_PLAIN_RESTING] > 0);
}

/* A trace whose launches begin and hardly ever go on as they did rests, too. */
static void test_fails(void **state)
{
	(void)state;
	replay->options.eager = false;
	for (uint32_t i = 0; i < 2000; i++)
		launch(1, 8, 1 + i % 20, (uint32_t[]){5}, 1, i % 20 == 0);
	assert_true(share() >= 50);
	while (count < LAUNCHES)
		for (uint32_t i = 0; i < 20; i++)
			launch(1, 8, i == 17 && draw(4) != 0 ? 30 + draw(50) : 1 + i, (uint32_t[]){5}, 1, i == 0);
	settle();
	check_stats();
	assert_true(replay->stats.plain[GSG_PLAIN_RESTING] > 0);
}

/* More streams than are followed. */
static void test_many_streams(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(1, 8 + i / 250 % (GSG_REPLAY_LANES + 3), 1 + i % 5, (uint32_t[]){5}, 1, false);
	settle();
	check_stats();
	assert_true(replay->stats.falls[GSG_PLAIN_LATE] > 0);
}

/* --- any program --------------------------------------------------------------------------------------------------- */

struct loop {
	uint64_t context_id;
	uintptr_t streams[2];
	uint32_t length, kind;
	uintptr_t kernels[300];
};

static void draw_loop(struct loop *loop)
{
	loop->context_id = 1 + draw(2);
	loop->streams[0] = draw(5) * 8;
	loop->streams[1] = draw(3) == 0 ? draw(5) * 8 : loop->streams[0];
	loop->length = 1 + draw(draw(3) == 0 ? 300 : 20);
	loop->kind = draw(5);
	for (uint32_t i = 0; i < loop->length; i++)
		loop->kernels[i] = 1 + draw(KERNELS);
}

static void launch_of(const struct loop *loop, uint32_t i, uint32_t time, bool first)
{
	uint32_t changing[] = {0, time % 2, time, i % 3 == 0 ? time : 0, draw(4)};

	launch(loop->context_id, loop->streams[i % 2], loop->kernels[i], (uint32_t[]){changing[loop->kind], i}, 1 + i % 2,
	       first);
}

/* Loops that come again, with waits, other work and odd launches in some of them. */
static void any_program(void)
{
	static struct loop loops[6];
	bool first = false;

	for (unsigned i = 0; i < 6; i++)
		draw_loop(&loops[i]);
	while (count < LAUNCHES / 4) {
		const struct loop *loop = &loops[draw(6)];
		uint32_t times = 1 + draw(40), waits = draw(3), odd = draw(3) == 0 ? 1 + draw(200) : 0;

		for (uint32_t time = 0; time < times && count < LAUNCHES; time++) {
			for (uint32_t i = 0; i < loop->length; i++) {
				if (odd != 0 && draw(odd) == 0)
					launch(loop->context_id, loop->streams[0], 1 + draw(KERNELS), (uint32_t[]){time}, 1, false);
				if (odd != 0 && draw(odd) == 0)
					between(loop->context_id, loop->streams[0]);
				if (odd != 0 && draw(odd * 4) == 0)
					gsg_replay_settle(replay, draw(2) == 0 ? GSG_PLAIN_FLUSH : GSG_PLAIN_LATE);
				if (odd != 0 && draw(odd * 50) == 0)
					gsg_replay_forget(replay);
				launch_of(loop, i, time, first);
				first = false;
			}
			if (waits != 0) {
				settle();
				first = true;
			}
		}
	}
	settle();
	check_stats();
}

static void test_any(void **state)
{
	uint64_t replayed = 0, launched = 0;

	for (uint64_t number = 1; number <= SEEDS; number++) {
		end(state);
		start(state);
		seed = number * 1000003;
		replay->options.eager = number % 3 != 0;
		replay->options.chunk = (uint32_t[]){64, 8, 13, 512}[number % 4];
		replay->cache.limit_bytes = number % 5 == 0 ? 1u << 20 : 64u << 20;
		replay->options.late_ticks = number % 7 == 0 ? 50 : UINT64_MAX >> 1;
		fake.refuse_at = number % 6 == 0 ? 1 + draw(5000) : 0;
		any_program();
		replayed += replay->stats.replayed;
		launched += replay->stats.launches;
	}
	printf("# %llu of %llu launches by graphs\n", (unsigned long long)replayed, (unsigned long long)launched);
	assert_true(replayed * 3 > launched);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	int legacy;
	struct nest short_graphs = {79, 32}, long_graphs = {79, 128}, no_multiple = {97, 32};
	const struct CMUnitTest tests[] = {
		TEST(test_constant), TEST(test_ping_pong), TEST(test_odd_ping_pong), TEST(test_all_change), TEST(test_steps),
		TEST(test_short_steps), TEST(test_two_kinds), TEST(test_aperiodic), TEST(test_streams), TEST(test_legacy),
		TEST(test_between), {"test_between, the legacy stream", test_between, start, end, &legacy},
		{"test_nest, short graphs", test_nest, start, end, &short_graphs},
		{"test_nest, long graphs", test_nest, start, end, &long_graphs},
		{"test_nest, no multiple", test_nest, start, end, &no_multiple},
		TEST(test_contexts), TEST(test_beside), TEST(test_alike), TEST(test_no_pages), TEST(test_late),
		TEST(test_refused), TEST(test_limit), TEST(test_forget), TEST(test_does_not_pay), TEST(test_fails),
		TEST(test_many_streams), TEST(test_any),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph replay", tests, NULL, NULL);
}
