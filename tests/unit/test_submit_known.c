/* Work that is known to succeed: what is found is what was added for just this key, however many keys there are, and what is out of
 * date makes room first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/core/counter.h"
#include "shim/submit/known.h"

enum { KEYS = 20000, FEW = 300, EPOCHS = 50 };

static struct gs_params layouts[KEYS];

static struct gs_known_key key_of(uint32_t number, uint64_t epoch)
{
	uint32_t mixed = (number + 1) * 0x9e3779b1u;

	mixed = (mixed ^ mixed >> 15) * 0x85ebca77u; /* one to one */
	return (struct gs_known_key){
		.epoch = epoch, .context_id = 1, .grid = {1 + (mixed & 0xffff), 1 + (mixed >> 16), 1}, .block = {32, 1, 1}};
}

static void add(uint32_t number, uint64_t epoch)
{
	struct gs_known_key key = key_of(number, epoch);

	gs_known_add(&key, &layouts[number]);
	assert_ptr_equal(gs_known_find(&key), &layouts[number]);
}

static const struct gs_params *find(uint32_t number, uint64_t epoch)
{
	struct gs_known_key key = key_of(number, epoch);

	return gs_known_find(&key);
}

/* Nothing is known before something was added, not even nothing. */
static void test_none(void **state)
{
	struct gs_known_key none = {0};

	(void)state;
	assert_null(find(0, 1));
	add(0, 1);
	assert_null(gs_known_find(&none));
	assert_null(find(1, 1));
	assert_null(find(0, 2));
}

/* More than there is room for: each one may be forgotten, and none is taken for another. */
static void test_many(void **state)
{
	unsigned found = 0;

	(void)state;
	for (unsigned again = 0; again < 3; again++)
		for (uint32_t number = 0; number < KEYS; number++)
			add(number, 2);
	for (uint32_t number = 0; number < KEYS; number++) {
		const struct gs_params *params = find(number, 2);

		assert_true(params == NULL || params == &layouts[number]);
		found += params != NULL;
	}
	assert_in_range(found, 1500, 2048);
}

/* A few are all known, as long as no three of them have the same two places; what was known before is in nobody's way. */
static void test_few(void **state)
{
	(void)state;
	for (uint64_t epoch = 3; epoch < 3 + EPOCHS; epoch++) {
		unsigned found = 0;

		for (uint32_t number = 0; number < FEW; number++)
			add(number, epoch);
		for (uint32_t number = 0; number < FEW; number++)
			found += find(number, epoch) == &layouts[number];
		assert_in_range(found, FEW - FEW / 20, FEW);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_few),
	};

	gs_counter_init();
	gs_counter_block_take();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("submit known", tests, NULL, NULL);
}
