/* The rows of places where the host waited: what is added up there by the thread that came first, and by others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "shim/api/call.h"
#include "shim/core/counter.h"
#include "shim/watch/wait.h"

enum { THREADS = 4, WAITS = 20000, PLACES = 3, BYTES = 8, OCTAVE_PLACES = 4000, OCTAVES = 20 };

static void wait_at(uint32_t place, bool clear, uint64_t ticks)
{
	struct gs_call call = {
		.fn = GS_FN_cuMemcpyDtoH_v2,
		.start_ticks = 1,
		.wait = {.stack = place, .stacked = true, .clear = clear, .size_bytes = BYTES, .way = GS_COPY_TO_HOST},
	};

	gs_wait_ended(&call, CUDA_SUCCESS, ticks);
}

static void *wait_often(void *first_place)
{
	for (uint32_t i = 0; i < WAITS; i++)
		wait_at(1 + (*(uint32_t *)first_place + i) % PLACES, i % 4 == 0, 1 + i % 2);
	return NULL;
}

/* Each place has another thread that came to it first, and all come to each. */
static void test_adds_up(void **state)
{
	uint64_t calls = 0, clear = 0, size_bytes = 0;
	uint32_t first_places[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		first_places[i] = i % PLACES;
		assert_int_equal(pthread_create(&threads[i], NULL, wait_often, &first_places[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(gs_wait_count(), PLACES);
	for (size_t i = 0; i < PLACES; i++) {
		struct gs_wait wait;

		gs_wait_read(i, &wait);
		assert_true(wait.stack >= 1 && wait.stack <= PLACES);
		calls += wait.calls;
		clear += wait.clear;
		size_bytes += wait.size_bytes;
		assert_true(wait.calls >= THREADS * (WAITS / PLACES));
	}
	assert_int_equal(calls, THREADS * WAITS);
	assert_int_equal(clear, THREADS * WAITS / 4);
	assert_int_equal(size_bytes, THREADS * WAITS * BYTES);
}

/* A thread that comes back to where it waited last finds the same row, and another one elsewhere. */
static void test_back(void **state)
{
	struct gs_wait wait;
	size_t count = gs_wait_count();

	(void)state;
	wait_at(PLACES + 1, false, 1);
	wait_at(PLACES + 1, true, 1);
	wait_at(PLACES + 2, false, 1);
	wait_at(PLACES + 1, false, 1);
	assert_int_equal(gs_wait_count(), count + 2);
	gs_wait_read(count, &wait);
	assert_int_equal(wait.calls, 3);
	assert_int_equal(wait.clear, 1);
	gs_wait_read(count + 1, &wait);
	assert_int_equal(wait.calls, 1);
}

static void sync_at(uint32_t place, uint64_t launches)
{
	struct gs_call call = {.fn = GS_FN_cuCtxSynchronize, .wait = {.stack = place, .stacked = true}};

	atomic_store(&gs_wait_launches, launches);
	gs_wait_ended(&call, CUDA_SUCCESS, 1);
}

static void *sync_once(void *unused)
{
	sync_at(PLACES + 4, 0);
	return unused;
}

static void *ask_time(void *unused)
{
	gs_wait_timed();
	return unused;
}

/* Whoever asks for the time between events has not waited where a thread did that is gone, though its counters are handed on. */
static void test_timed(void **state)
{
	void *(*const threads[])(void *) = {sync_once, ask_time};
	size_t count = gs_wait_count();
	struct gs_wait wait;
	pthread_t thread;

	(void)state;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		assert_int_equal(pthread_create(&thread, NULL, threads[i], NULL), 0);
		pthread_join(thread, NULL);
	}
	gs_wait_read(count, &wait);
	assert_int_equal(wait.timed, 0);
	sync_at(PLACES + 4, 0);
	gs_wait_timed();
	gs_wait_timed();
	gs_wait_read(count, &wait);
	assert_int_equal(wait.timed, 1);
}

/* Calls are late since the launches were doubled once or twice; of copies that is not asked. */
static void test_late(void **state)
{
	static const struct {
		uint64_t launches, late;
	} calls[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {5, 5}, {6, 3}, {13, 4}, {14, 3}, {60, 1}, {121, 2}, {122, 3}, {1000, 1}};
	size_t first = gs_wait_count();
	struct gs_wait wait;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		sync_at(PLACES + 3, calls[i].launches);
		wait_at(PLACES + 3, false, 1);
		gs_wait_read(first, &wait);
		assert_int_equal(wait.calls, i + 1);
		assert_int_equal(wait.late, calls[i].late);
		gs_wait_read(first + 1, &wait);
		assert_int_equal(wait.calls, i + 1);
		assert_int_equal(wait.late, 0);
	}
}

static void *sync_often(void *unused)
{
	for (uint32_t place = 0; place < OCTAVE_PLACES; place++)
		for (unsigned octave = 0; octave < OCTAVES; octave++)
			sync_at(100 + place, 1ull << octave);
	return unused;
}

/* No more calls are late than there are, whoever looks, and whenever. */
static void test_late_meanwhile(void **state)
{
	size_t first = gs_wait_count();
	pthread_t threads[THREADS];
	struct gs_wait wait;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sync_often, NULL), 0);
	do {
		size_t count = gs_wait_count();

		if (count == first)
			continue;
		gs_wait_read(count - 1, &wait);
		assert_true(wait.late <= wait.calls);
	} while (gs_wait_count() < first + OCTAVE_PLACES);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = first; i < first + OCTAVE_PLACES; i++) {
		gs_wait_read(i, &wait);
		assert_int_equal(wait.calls, OCTAVES * THREADS);
		assert_true(wait.late <= wait.calls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_timed),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_late_meanwhile),
	};

	gs_counter_init();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("watch wait", tests, NULL, NULL);
}
