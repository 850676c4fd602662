/* report/map: against a plain array, under a seed that is printed. SEED=N repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "report/map.c"

#define KEYS 512

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Keys that collide a lot: few homes, and neighbours of each other. */
static uint64_t key_of_index(uint64_t index)
{
	return (index / 16) << 40 | index % 16;
}

static void map_equals_array(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL), random = seed * 2 + 1,
		 value = 0;
	uint64_t values[KEYS];
	bool there[KEYS] = {false};
	struct gsr_map map = {0};
	size_t count = 0;

	(void)state;
	printf("# seed %llu\n", (unsigned long long)seed);
	for (unsigned step = 0; step < 200000; step++) {
		uint64_t index = next_random(&random) % KEYS, key = key_of_index(index);

		if (next_random(&random) % 5 < 2) {
			count += !there[index];
			there[index] = true;
			values[index] = step;
			gsr_map_put(&map, key, step);
		} else if (next_random(&random) % 2 == 0) {
			assert_int_equal(gsr_map_take(&map, key, &value), there[index]);
			assert_true(!there[index] || value == values[index]);
			count -= there[index];
			there[index] = false;
		} else {
			assert_int_equal(gsr_map_find(&map, key, &value), there[index]);
			assert_true(!there[index] || value == values[index]);
		}
		assert_int_equal(map.count, count);
	}
	for (uint64_t index = 0; index < KEYS; index++)
		assert_int_equal(gsr_map_find(&map, key_of_index(index), &value), there[index]);
	gsr_map_drop(&map);
}

static void an_empty_map_has_nothing(void **state)
{
	struct gsr_map map = {0};
	uint64_t value = 7;

	(void)state;
	assert_false(gsr_map_find(&map, 0, &value));
	assert_false(gsr_map_take(&map, 0, &value));
	assert_int_equal(value, 7);
	gsr_map_put(&map, 0, 1);
	gsr_map_put(&map, UINT64_MAX, 2);
	assert_true(gsr_map_take(&map, 0, &value) && value == 1);
	assert_true(gsr_map_take(&map, UINT64_MAX, &value) && value == 2);
	assert_int_equal(map.count, 0);
	gsr_map_drop(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(map_equals_array),
	    cmocka_unit_test(an_empty_map_has_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
