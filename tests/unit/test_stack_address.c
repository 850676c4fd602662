/* Addresses are told apart though the table has them under one hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>

#include "shim/base/err.h"
#include "shim/stack/address.h"
#include "shim/stack/table.h"

enum { ADDRESSES = 700000 };

static struct {
	uint32_t hash, at;
} looked[ADDRESSES];

static int by_hash(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static uint32_t frame_of(uint64_t address)
{
	struct gs_address found = {0};
	bool lasting = false;

	assert_int_equal(gs_address_find(address, 0, &found, &lasting), GS_OK);
	assert_true(lasting);
	assert_int_equal(found.address, address);
	return found.frame;
}

static void test_same_hash(void **state)
{
	unsigned pairs = 0;
	uint64_t start;
	Dl_info info;

	(void)state;
	assert_int_not_equal(dladdr((void *)(uintptr_t)qsort, &info), 0);
	start = (uint64_t)(uintptr_t)info.dli_fbase + 0x30000; /* in the code of the C library */
	for (uint32_t at = 0; at < ADDRESSES; at++) {
		looked[at].hash = gs_hash(start + at, 0);
		looked[at].at = at;
	}
	qsort(looked, ADDRESSES, sizeof(looked[0]), by_hash);
	for (uint32_t i = 1; i < ADDRESSES; i++)
		if (looked[i].hash == looked[i - 1].hash) {
			assert_int_not_equal(frame_of(start + looked[i].at), frame_of(start + looked[i - 1].at));
			assert_int_equal(frame_of(start + looked[i].at), frame_of(start + looked[i].at));
			pairs++;
		}
	assert_true(pairs > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_hash)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("stack address", tests, NULL, NULL);
}
