/* Events whose records and waits may be put off: each known by a number that no other one has, until it is gone. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "shim/submit/event.h"

enum { HANDLES = 6000, STEPS = 200000, THREADS = 4, OWN = 64, ROUNDS = 3000 };

static CUevent handle(uint32_t number)
{
	return (CUevent)(uintptr_t)(0x10000 + 16 * (uintptr_t)number);
}

static int forget(void **state)
{
	(void)state;
	gs_submit_event_forget();
	return 0;
}

static void test_life(void **state)
{
	uint64_t first;

	(void)state;
	assert_int_equal(gs_submit_event_serial(NULL), 0);
	assert_int_equal(gs_submit_event_serial(handle(1)), 0);
	gs_submit_event_made(handle(1), CU_EVENT_DISABLE_TIMING);
	first = gs_submit_event_serial(handle(1));
	assert_int_not_equal(first, 0);
	assert_int_equal(gs_submit_event_serial(handle(1)), first);
	gs_submit_event_gone(handle(1));
	assert_int_equal(gs_submit_event_serial(handle(1)), 0);
	gs_submit_event_made(handle(1), 0);
	assert_true(gs_submit_event_serial(handle(1)) > first);
}

/* Also where one that was not shared had the handle. */
static void test_shared(void **state)
{
	(void)state;
	gs_submit_event_made(handle(1), CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	assert_int_equal(gs_submit_event_serial(handle(1)), 0);
	gs_submit_event_made(handle(1), 0);
	assert_int_not_equal(gs_submit_event_serial(handle(1)), 0);
	gs_submit_event_made(handle(1), CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	assert_int_equal(gs_submit_event_serial(handle(1)), 0);
}

static void test_forget(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		gs_submit_event_made(handle(i), 0);
	gs_submit_event_forget();
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(gs_submit_event_serial(handle(i)), 0);
}

/* Against a list of what each number should be; one that found no room is not known until it is made again. */
static void test_many(void **state)
{
	static uint64_t serials[HANDLES];
	uint32_t made = 0, known = 0;
	uint64_t last = 0, found;

	(void)state;
	srand(1);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t i = (uint32_t)rand() % HANDLES;

		assert_int_equal(gs_submit_event_serial(handle(i)), serials[i]);
		if (rand() % 3 == 0) {
			gs_submit_event_gone(handle(i));
			serials[i] = 0;
			continue;
		}
		gs_submit_event_made(handle(i), 0);
		made++;
		found = gs_submit_event_serial(handle(i));
		assert_true(found == 0 || found > last);
		known += found != 0;
		serials[i] = found;
		last = found != 0 ? found : last;
	}
	assert_true(known > made / 100 * 99);
}

/* --- threads ------------------------------------------------------------------------------------------------------- */

static uint64_t seen[THREADS][OWN];
static unsigned wrong[THREADS];

/* Each thread has events of its own, and some that come and go. */
static void *work(void *number)
{
	uint32_t self = (uint32_t)(uintptr_t)number;

	for (uint32_t i = 0; i < OWN; i++) {
		gs_submit_event_made(handle(self * OWN + i), 0);
		seen[self][i] = gs_submit_event_serial(handle(self * OWN + i));
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t i = round % OWN, other = THREADS * OWN + self + round % 300 * THREADS;

		gs_submit_event_made(handle(other), 0);
		wrong[self] += gs_submit_event_serial(handle(self * OWN + i)) != seen[self][i];
		gs_submit_event_gone(handle(self * OWN + i));
		gs_submit_event_made(handle(self * OWN + i), 0);
		seen[self][i] = gs_submit_event_serial(handle(self * OWN + i));
		gs_submit_event_gone(handle(other));
		wrong[self] += gs_submit_event_serial(handle(other)) != 0;
	}
	return NULL;
}

static void *end_contexts(void *unused)
{
	for (uint32_t i = 0; i < 100; i++)
		gs_submit_event_forget();
	return unused;
}

static void run(bool contexts_end)
{
	pthread_t threads[THREADS], other;

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	if (contexts_end)
		assert_int_equal(pthread_create(&other, NULL, end_contexts, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (contexts_end)
		pthread_join(other, NULL);
}

static void test_threads(void **state)
{
	(void)state;
	run(false);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(wrong[i], 0);
	for (uint32_t i = 0; i < THREADS * OWN; i++) {
		assert_int_not_equal(seen[i / OWN][i % OWN], 0);
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(seen[i / OWN][i % OWN], seen[j / OWN][j % OWN]);
	}
}

/* For sanitizers. */
static void test_contexts_end(void **state)
{
	(void)state;
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_life, forget),    cmocka_unit_test_setup(test_shared, forget),
		cmocka_unit_test_setup(test_forget, forget),  cmocka_unit_test_setup(test_many, forget),
		cmocka_unit_test_setup(test_threads, forget), cmocka_unit_test_setup(test_contexts_end, forget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("submit event", tests, NULL, NULL);
}
