/* One trace: what is built, what is told to the driver when arguments change, what is left after a refusal; and whether it pays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "graph/gain.h"
#include "graph/trace.h"
#include "shim/base/err.h"
#include "tests/lib/gsg_fake.h"

enum { COUNT = 130 };

static struct gsg_fake fake;
static struct gsg_fake_launch launches[COUNT];
static const struct gsg_launch *pointers[COUNT];
static struct gsg_trace *trace;

/* Launch i of a step: only every third one has an argument that changes. */
static void come(uint32_t step)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		gsg_fake_launch(&launches[i], 1, 8, 1 + i, (uint32_t[]){i % 3 == 0 ? step : 0, i}, 2, false);
		pointers[i] = &launches[i].launch;
	}
}

static int start(void **state)
{
	(void)state;
	gsg_fake_init(&fake);
	come(0);
	trace = gsg_trace_new(pointers, COUNT, 77);
	return trace == NULL;
}

static int end(void **state)
{
	(void)state;
	gsg_trace_ruin(trace, &gsg_fake_ops, &fake);
	gsg_trace_free(trace);
	assert_int_equal(fake.graphs, 0);
	assert_int_equal(fake.execs, 0);
	gsg_fake_end(&fake);
	return 0;
}

/* All come by and are launched; returns what gsg_trace_launch does. */
static int replay(uint32_t step)
{
	come(step);
	gsg_trace_begin(trace);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(gsg_trace_match(trace, i, pointers[i]));
	return gsg_trace_launch(trace, &gsg_fake_ops, &fake, pointers);
}

static void check_made(uint32_t replays)
{
	assert_int_equal(fake.made_count, replays * COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(gsg_fake_same(&fake.made[(replays - 1) * COUNT + i], &launches[i]));
}

/* What changes is patched, and nothing else; arguments that alternate are patched once in each executable. */
static void test_patch(void **state)
{
	const uint32_t changing = (COUNT + 2) / 3;

	(void)state;
	assert_int_equal(gsg_trace_build(trace, &gsg_fake_ops, &fake), GS_OK);
	for (uint32_t i = 1; i <= 5; i++) {
		assert_int_equal(replay(0), GS_OK);
		check_made(i);
	}
	assert_int_equal(fake.patches, 0);
	assert_int_equal(fake.instantiated, 1);
	for (uint32_t i = 6; i <= 10; i++) {
		assert_int_equal(replay(i), GS_OK);
		check_made(i);
	}
	assert_int_equal(fake.patches, 5 * changing);
	assert_int_equal(fake.instantiated, GSG_TRACE_TURNS);
	for (uint32_t i = 11; i <= 20; i++) {
		assert_int_equal(replay(100 + i % 2), GS_OK);
		check_made(i);
	}
	assert_int_equal(fake.patches, (5 + GSG_TRACE_TURNS) * changing);
}

/* Anything else than the arguments makes it another launch. */
static void test_shape(void **state)
{
	(void)state;
	assert_int_equal(gsg_trace_build(trace, &gsg_fake_ops, &fake), GS_OK);
	gsg_trace_begin(trace);
	for (uint32_t at = 0; at < sizeof(struct gsg_shape); at++) {
		((unsigned char *)&launches[3].launch.shape)[at] ^= 1;
		assert_false(gsg_trace_match(trace, 3, pointers[3]));
		assert_false(gsg_trace_is(trace, pointers, COUNT));
		((unsigned char *)&launches[3].launch.shape)[at] ^= 1;
	}
	assert_true(gsg_trace_match(trace, 3, pointers[3]));
	assert_true(gsg_trace_is(trace, pointers, COUNT));
	assert_false(gsg_trace_is(trace, pointers, COUNT - 1));
	assert_int_equal(trace->dirty_count, 0);
}

/* Whichever call is refused: nothing was launched, and nothing is left. */
static void test_refused(void **state)
{
	bool fired = true;
	int error;

	for (uint64_t at = 1; fired; at++) {
		end(state);
		start(state);
		fake.refuse_at = at;
		error = gsg_trace_build(trace, &gsg_fake_ops, &fake);
		for (uint32_t i = 1; error == GS_OK && i < 4; i++) {
			uint32_t before = fake.made_count;

			error = replay(i);
			assert_int_equal(fake.made_count, before + (error == GS_OK ? COUNT : 0));
		}
		assert_int_equal(trace->bad, error != GS_OK);
		assert_true(error == GS_OK || (fake.graphs == 0 && fake.execs == 0));
		fired = fake.calls >= at;
		assert_true(fired || at > 2 * COUNT);
	}
}

/* The like of it is refused a second executable: it goes on with one. */
static void test_one_executable(void **state)
{
	(void)state;
	assert_int_equal(gsg_trace_build(trace, &gsg_fake_ops, &fake), GS_OK);
	assert_int_equal(replay(0), GS_OK);
	come(1);
	gsg_trace_begin(trace);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(gsg_trace_match(trace, i, pointers[i]));
	fake.refuse_at = fake.calls + trace->dirty_count + 2; /* patches, the launch, the second one */
	assert_int_equal(gsg_trace_launch(trace, &gsg_fake_ops, &fake, pointers), GS_OK);
	assert_int_equal(trace->exec_count, 1);
	assert_int_equal(replay(2), GS_OK);
	check_made(3);
}

static void test_gain(void **state)
{
	struct gsg_gain gain = {0};
	unsigned last = 0, let_go = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_false(gsg_gain_note(&gain, 100));
	for (unsigned i = 0; i < 100; i++) {
		assert_false(gsg_gain_rests(&gain));
		gsg_gain_note(&gain, i % 4 == 0 ? -100 : 100);
	}
	assert_false(gsg_gain_rests(&gain));
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; !gsg_gain_note(&gain, -1000); i++)
			assert_true(i < 3);
		for (let_go = 0; gsg_gain_rests(&gain); let_go++)
			continue;
		assert_true(let_go > last);
		last = let_go;
	}
	for (unsigned i = 0; i < 100; i++)
		assert_false(gsg_gain_note(&gain, 1000));
	for (unsigned i = 0; !gsg_gain_note(&gain, -1000000); i++)
		assert_true(i < 3);
	for (let_go = 0; gsg_gain_rests(&gain); let_go++)
		continue;
	assert_true(let_go < last);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_patch), TEST(test_shape), TEST(test_refused), TEST(test_one_executable), TEST(test_gain),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph trace", tests, NULL, NULL);
}
