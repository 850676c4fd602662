/* shim/watch/ring.c: a writer that is stopped in the midst of an event keeps its slot, round for round. Nobody waits for it; of each
 * round only the event that would go there is lost, and all are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/ring_file.h"
#include "shim/base/err.h"
#include "shim/watch/ring.h"

#define CAPACITY 64u
#define STOPPED 5u /* number of its event */
#define ROUNDS 3u

static struct gs_ring_slot slots[CAPACITY];

static void add_until(uint64_t end)
{
	while (gs_ring_end() < end) {
		struct gs_event event = {.address = gs_ring_end()};

		gs_ring_add(&event);
	}
	assert_int_equal(gs_ring_added(end), end);
}

/* Numbers that have their events; `gap` alone has none. */
static void assert_gap(uint64_t gap)
{
	struct gs_event event;

	for (uint64_t at = gs_ring_begin(); at < gs_ring_end(); at++) {
		assert_int_equal(gs_ring_read(at, &event), at == gap ? GS_E_NOT_FOUND : GS_OK);
		if (at != gap)
			assert_int_equal(event.address, at);
	}
}

static void only_its_slot_is_passed_over(void **state)
{
	(void)state;
	add_until(STOPPED + 1);
	atomic_store(&slots[STOPPED].number, 2 * STOPPED + 1);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		add_until(round * CAPACITY + STOPPED);
		assert_gap((round - 1) * CAPACITY + STOPPED);
		add_until((round + 1) * CAPACITY);
		assert_gap(round * CAPACITY + STOPPED);
		assert_int_equal(atomic_load(&slots[STOPPED].words[1]), STOPPED);
	}
}

static void it_goes_on(void **state)
{
	(void)state;
	atomic_store(&slots[STOPPED].number, 2 * STOPPED + 2);
	assert_gap(ROUNDS * CAPACITY + STOPPED);
	add_until((ROUNDS + 2) * CAPACITY);
	assert_gap(UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_its_slot_is_passed_over),
	    cmocka_unit_test(it_goes_on),
	};

	gs_ring_init_at(slots, CAPACITY);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("a stopped writer", tests, NULL, NULL);
}
