/* The bins of free blocks, against a scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "allocator/bins.h"
#include "allocator/types.h"
#include "tests/lib/gsa_blocks.h"

#define BLOCKS 400

static uint64_t draw_size(void)
{
	uint64_t units = 1 + (uint64_t)random() % 60;

	return 512 * (random() % 2 != 0 ? units : units << random() % 28);
}

/* As long as no bin holds more than GSA_BIN_LOOKS, what is found is the best fit. */
static void best_fit_as_by_scan(void **state)
{
	struct gsa_block *blocks = blocks_new(BLOCKS);
	struct gsa_bins *bins = calloc(1, sizeof(*bins));
	bool in[BLOCKS] = {false};
	unsigned count = 0;

	(void)state;
	srandom(7);
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i].size_bytes = draw_size();
	for (unsigned round = 0; round < 50000; round++) {
		unsigned pick = (unsigned)random() % BLOCKS;
		uint64_t size_bytes = draw_size();
		const struct gsa_block *found;
		uint64_t best_bytes = 0;

		if (in[pick])
			gsa_bins_remove(bins, &blocks[pick]);
		else if (count < 40)
			gsa_bins_insert(bins, &blocks[pick]);
		else
			continue;
		in[pick] = !in[pick];
		count = in[pick] ? count + 1 : count - 1;
		for (unsigned i = 0; i < BLOCKS; i++)
			if (in[i] && blocks[i].size_bytes >= size_bytes &&
			    (best_bytes == 0 || blocks[i].size_bytes < best_bytes))
				best_bytes = blocks[i].size_bytes;
		found = gsa_bins_fit(bins, size_bytes);
		assert_int_equal(found != NULL ? found->size_bytes : 0, best_bytes);
	}
	free(bins);
	free(blocks);
}

/* What fits is found however many that are too small came into its bin after it. */
static void a_fit_behind_many(void **state)
{
	struct gsa_block *blocks = blocks_new(BLOCKS);
	struct gsa_bins *bins = calloc(1, sizeof(*bins));

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i].size_bytes = i == 0 ? 8704 : 8192;
		gsa_bins_insert(bins, &blocks[i]);
	}
	assert_ptr_equal(gsa_bins_fit(bins, 8704), &blocks[0]);
	gsa_bins_remove(bins, &blocks[0]);
	assert_null(gsa_bins_fit(bins, 8704));
	free(bins);
	free(blocks);
}

static void a_walk_sees_all(void **state)
{
	struct gsa_block *blocks = blocks_new(BLOCKS);
	struct gsa_bins *bins = calloc(1, sizeof(*bins));
	unsigned seen = 0;

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i].size_bytes = draw_size();
		gsa_bins_insert(bins, &blocks[i]);
	}
	for (struct gsa_block *block = gsa_bins_from(bins, 0); block != NULL; block = gsa_bins_next(bins, block))
		seen++;
	assert_int_equal(seen, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		gsa_bins_remove(bins, &blocks[i]);
	assert_null(gsa_bins_from(bins, 0));
	assert_null(gsa_bins_fit(bins, 1));
	free(bins);
	free(blocks);
}

/* Extremes of size have bins, and what is found is never too small. */
static void edges(void **state)
{
	static const uint64_t sizes[] = {512, 3584, 4096, 4608, 1ull << 46, (1ull << 50) - 512};
	struct gsa_bins *bins = calloc(1, sizeof(*bins));
	struct gsa_block block = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		block.size_bytes = sizes[i];
		gsa_bins_insert(bins, &block);
		assert_ptr_equal(gsa_bins_fit(bins, sizes[i]), &block);
		assert_ptr_equal(gsa_bins_fit(bins, 1), &block);
		assert_null(gsa_bins_fit(bins, sizes[i] + 512));
		gsa_bins_remove(bins, &block);
	}
	free(bins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(best_fit_as_by_scan),
	    cmocka_unit_test(a_fit_behind_many),
	    cmocka_unit_test(a_walk_sees_all),
	    cmocka_unit_test(edges),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator bins", tests, NULL, NULL);
}
