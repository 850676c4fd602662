/* The map from addresses to blocks, against a sorted array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/addr_map.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"

#define KEYS_MAX 512

struct naive {
	uint64_t keys[KEYS_MAX]; /* units, sorted */
	unsigned count;
};

static uint64_t random_state = 12345;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 16) % below;
}

/* First index whose key is at or above. */
static unsigned naive_at(const struct naive *naive, uint64_t key)
{
	unsigned i = 0;

	while (i < naive->count && naive->keys[i] < key)
		i++;
	return i;
}

static void *value_of(uint64_t unit)
{
	return (void *)(uintptr_t)(unit + 1);
}

static uint64_t draw_unit(void)
{
	static const uint64_t spans[] = {64, 4096, 1 << 18, 1ull << 30, 1ull << 40};
	uint64_t span = spans[draw(5)];

	return span == 1ull << 40 ? draw(span) : 0x7f000000ull + draw(span);
}

static void same_as_naive(void **state)
{
	struct gsa_map *map = calloc(1, sizeof(*map));
	struct naive naive = {.count = 0};
	struct gsa_map_slabs slabs;

	(void)state;
	gsa_map_slabs_init(&slabs);
	for (unsigned round = 0; round < 50000; round++) {
		uint64_t unit = naive.count > 0 && draw(3) == 0 ? naive.keys[draw(naive.count)] : draw_unit();
		uint64_t address = unit * GSA_MAP_UNIT_BYTES;
		unsigned at = naive_at(&naive, unit);
		bool known = at < naive.count && naive.keys[at] == unit;

		assert_ptr_equal(gsa_map_find(map, address), known ? value_of(unit) : NULL);
		assert_ptr_equal(gsa_map_find(map, address + 255), known ? value_of(unit) : NULL);
		assert_ptr_equal(gsa_map_ceiling(map, address), at < naive.count ? value_of(naive.keys[at]) : NULL);
		assert_ptr_equal(gsa_map_floor(map, address), known    ? value_of(unit)
							      : at > 0 ? value_of(naive.keys[at - 1])
								       : NULL);
		if (known) {
			assert_int_equal(gsa_map_insert(map, &slabs, address, &naive), GS_E_INVALID);
			gsa_map_remove(map, &slabs, address);
			naive.count--;
			memmove(&naive.keys[at], &naive.keys[at + 1], (naive.count - at) * sizeof(uint64_t));
		} else if (naive.count < KEYS_MAX) {
			assert_int_equal(gsa_map_insert(map, &slabs, address, value_of(unit)), GS_OK);
			memmove(&naive.keys[at + 1], &naive.keys[at], (naive.count - at) * sizeof(uint64_t));
			naive.keys[at] = unit;
			naive.count++;
		}
	}
	while (naive.count > 0)
		gsa_map_remove(map, &slabs, naive.keys[--naive.count] * GSA_MAP_UNIT_BYTES);
	assert_int_equal(slabs.large.free_count, slabs.large.total_count);
	assert_int_equal(slabs.small.free_count, slabs.small.total_count);
	free(map);
}

static void edges(void **state)
{
	struct gsa_map *map = calloc(1, sizeof(*map));
	uint64_t last = (1ull << 48) - GSA_MAP_UNIT_BYTES;
	struct gsa_map_slabs slabs;

	(void)state;
	gsa_map_slabs_init(&slabs);
	assert_null(gsa_map_floor(map, UINT64_MAX));
	assert_null(gsa_map_ceiling(map, 0));
	assert_int_equal(gsa_map_insert(map, &slabs, 1ull << 48, map), GS_E_INVALID);
	assert_int_equal(gsa_map_insert(map, &slabs, UINT64_MAX, map), GS_E_INVALID);
	assert_int_equal(gsa_map_insert(map, &slabs, 0, map), GS_OK);
	assert_int_equal(gsa_map_insert(map, &slabs, last, &slabs), GS_OK);
	assert_ptr_equal(gsa_map_floor(map, last - 1), map);
	assert_ptr_equal(gsa_map_floor(map, UINT64_MAX), &slabs);
	assert_ptr_equal(gsa_map_ceiling(map, 1), &slabs);
	assert_null(gsa_map_ceiling(map, last + 1));
	assert_null(gsa_map_find(map, 1ull << 48));
	free(map);
}

static void a_failed_insertion_changes_nothing(void **state)
{
	struct gsa_map *map = calloc(1, sizeof(*map));
	struct gsa_map_slabs slabs;

	(void)state;
	gsa_map_slabs_init(&slabs);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 1);
	assert_int_equal(gsa_map_insert(map, &slabs, 512, map), GS_E_NO_HOST_MEMORY);
	gsb_fault_arm(GSB_FAULT_SLAB, 1, 1);
	assert_int_equal(gsa_map_insert(map, &slabs, 512, map), GS_E_NO_HOST_MEMORY);
	assert_null(gsa_map_find(map, 512));
	assert_int_equal(slabs.large.free_count, slabs.large.total_count);
	gsb_fault_arm(GSB_FAULT_SLAB, 0, 0);
	assert_int_equal(gsa_map_insert(map, &slabs, 512, map), GS_OK);
	assert_ptr_equal(gsa_map_find(map, 512), map);
	free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_as_naive),
	    cmocka_unit_test(edges),
	    cmocka_unit_test(a_failed_insertion_changes_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator address map", tests, NULL, NULL);
}
