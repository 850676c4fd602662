/* How fast launches come: those that come too far apart for a graph are left alone, and looked at again when they come closer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "graph/replay.h"
#include "shim/base/os.h"
#include "tests/lib/gsg_fake.h"

enum { SLOW_TICKS = 1000, PERIOD = 21, LAUNCHES = 20000 };

static struct gsg_replay *replay;
static struct gsg_fake fake;
static struct gsg_fake_launch *launches;
static uint32_t count;
static uint64_t now_ticks;

static int start(void **state)
{
	const struct gsg_replay_options options = {
		.chunk = 64, .cache_bytes = 64u << 20, .slow_ticks = SLOW_TICKS, .late_ticks = UINT64_MAX >> 1, .eager = true};

	(void)state;
	gsg_fake_init(&fake);
	count = 0;
	now_ticks = 1;
	replay = calloc(1, sizeof(*replay));
	launches = calloc(LAUNCHES, sizeof(*launches));
	gsg_replay_init(replay, &gsg_fake_ops, &fake, &options);
	return 0;
}

static int end(void **state)
{
	(void)state;
	gsg_replay_settle(replay, GSG_PLAIN_FLUSH);
	assert_int_equal(fake.made_count, count);
	gsg_replay_forget(replay);
	gsb_os_pages_unmap(replay->lanes[0], sizeof(struct gsg_lane));
	if (replay->recording.pages != NULL)
		gsb_os_pages_unmap(replay->recording.pages, 8u << 20);
	free(replay);
	free(launches);
	gsg_fake_end(&fake);
	return 0;
}

/* So many launches of a loop, that long after one another. Returns how many of them went by graphs. */
static uint64_t come(uint32_t more, uint64_t pace_ticks)
{
	uint64_t before = replay->stats.replayed;

	for (uint32_t i = 0; i < more; i++, count++) {
		gsg_fake_launch(&launches[count], 1, 8, 1 + count % PERIOD, (uint32_t[]){5}, 1, false);
		launches[count].launch.head.put_ticks = now_ticks += pace_ticks;
		gsg_replay_run(replay, &launches[count].launch, (uint64_t)count * 256);
	}
	return replay->stats.replayed - before;
}

static void test_slow(void **state)
{
	(void)state;
	assert_true(come(3000, 2 * SLOW_TICKS) < 100);
	assert_true(replay->stats.plain[GSG_PLAIN_SLOW] > 2900);
	assert_true(come(3000, SLOW_TICKS / 10) > 2500);
	gsg_replay_settle(replay, GSG_PLAIN_LATE);
	assert_true(come(500, 3 * SLOW_TICKS) < 100);
	assert_true(replay->stats.plain[GSG_PLAIN_SLOW] > 2900 + 400);
}

/* Some come slowly in the middle, whatever their number: the loop is known again behind them. */
static void test_slow_between(void **state)
{
	(void)state;
	assert_true(come(500, 1) > 300);
	for (uint32_t some = 1; some < 32; some++) {
		gsg_replay_settle(replay, GSG_PLAIN_LATE);
		come(some, 5 * SLOW_TICKS);
		come(100, 1);
		assert_true(come(300, 1) >= 300 - 64);
	}
	assert_true(replay->stats.plain[GSG_PLAIN_SLOW] > 100);
}

/* Launches that come in quick succession, but for long pauses: they may be held for each other. */
static void test_pauses(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		come(9, 1);
		come(1, 1000 * SLOW_TICKS);
	}
	assert_int_equal(replay->stats.plain[GSG_PLAIN_SLOW], 0);
	assert_true(replay->stats.replayed > 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slow, start, end),
		cmocka_unit_test_setup_teardown(test_slow_between, start, end),
		cmocka_unit_test_setup_teardown(test_pauses, start, end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph pace", tests, NULL, NULL);
}
