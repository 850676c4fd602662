/* shim/watch/ring.c: order, wrap-around, and that no reader ever sees half of an event while writers lap each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/watch/ring.h"

#define CAPACITY 64u
#define WRITERS 3u
#define EVENTS_EACH 200000u

/* Every field of an event follows from one number, so that a mixture of two events shows. */
static struct gs_event event_make(uint64_t number)
{
	return (struct gs_event){.time_ns = number,
				 .address = ~number,
				 .size_bytes = number * 3,
				 .stream = number ^ 0x5555555555555555u,
				 .stack = (uint32_t)number,
				 .thread = ~(uint32_t)number,
				 .type = GS_EVENT_FREE,
				 .device = (uint8_t)number};
}

static bool event_whole(const struct gs_event *event)
{
	struct gs_event made = event_make(event->time_ns);

	return memcmp(&made, event, sizeof(made)) == 0;
}

static void test_before_init(void **state)
{
	struct gs_event event = event_make(1);

	(void)state;
	gs_ring_add(&event);
	assert_int_equal(gs_ring_end(), 0);
	assert_int_equal(gs_ring_read(0, &event), GS_E_NOT_FOUND);
	assert_int_equal(gs_ring_init(0), GS_OK);
	gs_ring_add(&event);
	assert_int_equal(gs_ring_end(), 0);
}

static void test_no_memory(void **state)
{
	struct gs_event event = event_make(1);

	(void)state;
	gsb_fault_arm(GSB_FAULT_RING, 0, 1);
	assert_int_equal(gs_ring_init(CAPACITY), GS_E_NO_HOST_MEMORY);
	assert_int_equal(gsb_fault_fired(GSB_FAULT_RING), 1);
	gs_ring_add(&event);
	assert_int_equal(gs_ring_end(), 0);
	assert_int_equal(gs_ring_init(SIZE_MAX), GS_E_INVALID);
}

static void test_wrap(void **state)
{
	struct gs_event event;

	(void)state;
	assert_int_equal(gs_ring_init(CAPACITY - 1), GS_OK);
	assert_int_equal(gs_ring_read(0, &event), GS_E_NOT_FOUND);
	for (uint64_t number = 0; number < 3 * CAPACITY + 5; number++) {
		event = event_make(number);
		gs_ring_add(&event);
		assert_int_equal(gs_ring_end(), number + 1);
		assert_int_equal(gs_ring_begin(), number < CAPACITY ? 0 : number + 1 - CAPACITY);
		for (uint64_t at = gs_ring_begin(); at < gs_ring_end(); at++) {
			assert_int_equal(gs_ring_read(at, &event), GS_OK);
			assert_int_equal(event.time_ns, at);
			assert_true(event_whole(&event));
		}
		if (gs_ring_begin() > 0)
			assert_int_equal(gs_ring_read(gs_ring_begin() - 1, &event), GS_E_NOT_FOUND);
		assert_int_equal(gs_ring_read(gs_ring_end(), &event), GS_E_NOT_FOUND);
	}
}

static atomic_uint writers_left;

static void *writer_main(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument << 40;

	for (uint64_t number = 0; number < EVENTS_EACH; number++) {
		struct gs_event event = event_make(base + number);

		gs_ring_add(&event);
	}
	atomic_fetch_sub(&writers_left, 1);
	return NULL;
}

static void test_concurrent(void **state)
{
	uint64_t first = gs_ring_end(), whole = 0, torn = 0, quiet = 0;
	pthread_t writers[WRITERS];
	struct gs_event event;

	(void)state;
	atomic_store(&writers_left, WRITERS);
	for (uintptr_t at = 0; at < WRITERS; at++)
		assert_int_equal(pthread_create(&writers[at], NULL, writer_main, (void *)(at + 1)), 0);
	while (atomic_load(&writers_left) > 0) {
		for (uint64_t at = gs_ring_begin(), end = gs_ring_end(); at < end; at++) {
			if (gs_ring_read(at, &event) != GS_OK)
				continue;
			if (event_whole(&event))
				whole++;
			else
				torn++;
		}
	}
	for (unsigned at = 0; at < WRITERS; at++)
		pthread_join(writers[at], NULL);
	assert_int_equal(torn, 0);
	assert_int_equal(gs_ring_end() - first, WRITERS * EVENTS_EACH);
	for (uint64_t at = gs_ring_begin(); at < gs_ring_end(); at++) {
		if (gs_ring_read(at, &event) != GS_OK)
			continue;
		assert_true(event_whole(&event));
		quiet++;
	}
	/* A writer that found its slot taken gave up; at most one event for each other writer can be missing. */
	assert_true(quiet + WRITERS >= CAPACITY);
	print_message("# %llu events read while %u writers ran\n", (unsigned long long)whole, WRITERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_before_init),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_wrap),
	    cmocka_unit_test(test_concurrent),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
