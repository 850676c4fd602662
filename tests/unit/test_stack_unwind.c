/* What a thread knows of return addresses: each has two places, and what is found there is that address, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>

#include "shim/base/err.h"
#include "shim/stack/unwind.h"

enum { ADDRESSES = 5000, FIRST = 0x30000 };

static struct gs_unwind unwind;
static uint64_t start; /* in the code of the C library */

static uint32_t frame_of(uint64_t address)
{
	struct gs_address found = {0};
	bool lasting = false;

	assert_int_equal(gs_address_find(address, unwind.generation, &found, &lasting), GS_OK);
	assert_true(lasting);
	return found.frame;
}

static void check(uint64_t address)
{
	const struct gs_address *known = gs_unwind_look_up(&unwind, address);

	assert_non_null(known);
	assert_int_equal(known->address, address);
	assert_int_equal(known->frame, frame_of(address));
}

/* Where the address is kept; GS_UNWIND_KNOWN: nowhere. */
static size_t place_of(uint64_t address)
{
	size_t place = 0;

	while (place < GS_UNWIND_KNOWN && unwind.known[place].address != address)
		place++;
	return place;
}

static void test_many(void **state)
{
	(void)state;
	for (unsigned again = 0; again < 3; again++)
		for (uint64_t at = 0; at < ADDRESSES; at++) {
			check(start + at);
			check(start + at / 2);
		}
}

/* The second that has the same place pushes the first to the other one; the third takes that of the older. */
static void test_two_places(void **state)
{
	uint64_t same[3];
	unsigned count = 0;
	size_t place;

	(void)state;
	unwind = (struct gs_unwind){0};
	gs_unwind_begin(&unwind);
	check(start);
	place = place_of(start);
	for (uint64_t at = 1; count < 3; at++) {
		struct gs_unwind other = {.generation = unwind.generation};

		assert_non_null(gs_unwind_look_up(&other, start + at));
		if (other.known[place].address == start + at)
			same[count++] = start + at;
	}
	check(same[0]);
	assert_int_equal(place_of(same[0]), place);
	assert_int_equal(place_of(start), place ^ 1);
	check(start);
	assert_int_equal(place_of(same[0]), place);
	check(same[1]);
	check(same[2]);
	assert_int_equal(place_of(same[2]), place);
	assert_int_equal(place_of(same[1]), place ^ 1);
	assert_int_equal(place_of(start), GS_UNWIND_KNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many), cmocka_unit_test(test_two_places)};
	Dl_info info;

	if (dladdr((void *)(uintptr_t)qsort, &info) == 0)
		return 1;
	start = (uint64_t)(uintptr_t)info.dli_fbase + FIRST;
	gs_unwind_begin(&unwind);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("stack unwind", tests, NULL, NULL);
}
