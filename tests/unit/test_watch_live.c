/* shim/watch/live.c against a plain array, under random seeds; totals, peaks, running out of memory, and fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/lock.h"
#include "shim/watch/live.h"

#define MODEL_ADDRESSES 6000u /* more than the first bucket array, so that it grows */
#define MODEL_STEPS 60000u
#define MODEL_DEVICES 3u

struct model {
	struct gs_live entries[GS_LIVE_CLASS_COUNT][MODEL_ADDRESSES]; /* address 0: not there */
	struct gs_live_total totals[GS_LIVE_CLASS_COUNT][MODEL_DEVICES];
};

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t address_of(unsigned number)
{
	return 0x7f0000000000u + (uint64_t)number * 512;
}

static void model_subtract(struct model *model, struct gs_live *entry)
{
	struct gs_live_total *total = &model->totals[entry->live_class][entry->device];

	total->bytes -= entry->size_bytes;
	total->count--;
	entry->address = 0;
}

static void model_add(struct model *model, unsigned number, const struct gs_live *entry)
{
	struct gs_live_total *total = &model->totals[entry->live_class][entry->device];
	struct gs_live *old = &model->entries[entry->live_class][number];

	if (old->address != 0)
		model_subtract(model, old);
	*old = *entry;
	total->bytes += entry->size_bytes;
	total->count++;
	total->total_count++;
	if (total->peak_bytes < total->bytes)
		total->peak_bytes = total->bytes;
	if (total->peak_count < total->count)
		total->peak_count = total->count;
}

static void totals_compare(const struct model *model)
{
	for (unsigned live_class = 0; live_class < GS_LIVE_CLASS_COUNT; live_class++) {
		for (unsigned device = 0; device < MODEL_DEVICES; device++) {
			struct gs_live_total total = gs_live_total(live_class, (uint8_t)device);

			assert_memory_equal(&total, &model->totals[live_class][device], sizeof(total));
		}
	}
}

static void walk_visit(void *user, const struct gs_live *entry)
{
	struct model *model = user;
	struct gs_live *known = &model->entries[entry->live_class][(entry->address - address_of(0)) / 512];

	assert_false(gsb_lock_none());
	assert_int_equal(known->address, entry->address);
	assert_int_equal(known->size_bytes, entry->size_bytes);
	assert_int_equal(known->stack, entry->stack);
	known->address = 0;
}

static void model_run(uint64_t seed)
{
	struct model *model = calloc(1, sizeof(*model));
	struct gs_live entry;

	print_message("# seed %llu\n", (unsigned long long)seed);
	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	gs_live_reset_locks(); /* starts empty */
	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		unsigned number = (unsigned)(random_next() % MODEL_ADDRESSES);
		unsigned live_class = (unsigned)(random_next() % GS_LIVE_CLASS_COUNT);
		struct gs_live *known = &model->entries[live_class][number];

		if (random_next() % 100 < 60) {
			entry = (struct gs_live){.address = address_of(number),
						 .size_bytes = random_next() % 100000,
						 .stack = step,
						 .live_class = (uint8_t)live_class,
						 .device = (uint8_t)(random_next() % MODEL_DEVICES)};
			gs_live_add(&entry);
			model_add(model, number, &entry);
		} else if (known->address == 0) {
			assert_int_equal(gs_live_remove(live_class, address_of(number), &entry), GS_E_NOT_FOUND);
		} else {
			assert_int_equal(gs_live_remove(live_class, address_of(number), &entry), GS_OK);
			assert_int_equal(entry.size_bytes, known->size_bytes);
			assert_int_equal(entry.stack, known->stack);
			assert_int_equal(entry.device, known->device);
			model_subtract(model, known);
		}
		if (step % 5000 == 0)
			totals_compare(model);
	}
	totals_compare(model);
	gs_live_walk(walk_visit, model);
	for (unsigned live_class = 0; live_class < GS_LIVE_CLASS_COUNT; live_class++)
		for (unsigned number = 0; number < MODEL_ADDRESSES; number++)
			assert_int_equal(model->entries[live_class][number].address, 0);
	free(model);
}

static void test_model(void **state)
{
	const char *seed = getenv("GPUSHIM_TEST_SEED");

	(void)state;
	if (seed != NULL)
		model_run(strtoull(seed, NULL, 10));
	for (uint64_t at = 1; seed == NULL && at <= 5; at++)
		model_run(at);
}

static void test_peak(void **state)
{
	struct gs_live entry = {.address = 4096, .size_bytes = 100, .live_class = GS_LIVE_HOST, .device = 255};
	struct gs_live_total total;

	(void)state;
	gs_live_reset_locks();
	gs_live_add(&entry);
	entry.address = 8192;
	gs_live_add(&entry);
	assert_int_equal(gs_live_remove(GS_LIVE_HOST, 4096, &entry), GS_OK);
	total = gs_live_total(GS_LIVE_HOST, 255);
	assert_int_equal(total.bytes, 100);
	assert_int_equal(total.peak_bytes, 200);
	assert_int_equal(total.peak_count, 2);
	gs_live_reset_peak(0);
	assert_int_equal(gs_live_total(GS_LIVE_HOST, 255).peak_bytes, 200);
	gs_live_reset_peak(255);
	total = gs_live_total(GS_LIVE_HOST, 255);
	assert_int_equal(total.peak_bytes, 100);
	assert_int_equal(total.peak_count, 1);
	assert_int_equal(total.total_count, 2);

	/* A larger entry at the same address replaces it: no sum of both in the peak. */
	entry = (struct gs_live){.address = 8192, .size_bytes = 150, .live_class = GS_LIVE_HOST, .device = 255};
	gs_live_add(&entry);
	total = gs_live_total(GS_LIVE_HOST, 255);
	assert_int_equal(total.bytes, 150);
	assert_int_equal(total.peak_bytes, 150);
	assert_int_equal(total.count, 1);
}

static void test_no_memory(void **state)
{
	struct gs_live entry = {.size_bytes = 1, .live_class = GS_LIVE_DRIVER};
	uint64_t dropped, fired = 1;

	(void)state;
	for (unsigned passes = 0; fired > 0; passes++) {
		gs_live_reset_locks();
		dropped = gs_live_dropped();
		gsb_fault_arm(GSB_FAULT_LIVE, passes, 1);
		for (unsigned number = 0; number < 1500; number++) {
			entry.address = address_of(number);
			gs_live_add(&entry);
		}
		fired = gsb_fault_fired(GSB_FAULT_LIVE);
		gsb_fault_arm(GSB_FAULT_LIVE, 0, 0);
		dropped = gs_live_dropped() - dropped;
		assert_true(dropped <= fired);
		assert_int_equal(gs_live_total(GS_LIVE_DRIVER, 0).count, 1500 - dropped);
	}
	entry.live_class = GS_LIVE_CLASS_COUNT;
	gs_live_add(&entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_model),
	    cmocka_unit_test(test_peak),
	    cmocka_unit_test(test_no_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
