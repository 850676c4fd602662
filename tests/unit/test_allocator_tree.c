/* The trees of free blocks, against a scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "allocator/tree.h"

#define BLOCKS 400

static bool before(const struct gsa_block *block, uint64_t size_bytes, uint64_t address)
{
	return block->size_bytes < size_bytes || (block->size_bytes == size_bytes && block->address < address);
}

static unsigned depth(const struct gsa_block *tree)
{
	unsigned left = tree != NULL ? depth(tree->left) : 0;
	unsigned right = tree != NULL ? depth(tree->right) : 0;

	return tree == NULL ? 0 : 1 + (left > right ? left : right);
}

static void same_as_scan(void **state)
{
	struct gsa_block *blocks = calloc(BLOCKS, sizeof(*blocks));
	bool in[BLOCKS] = {false};
	struct gsa_block *tree = NULL;

	(void)state;
	srandom(7);
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i].address = 0x700000000000ull + i * 512ull;
		blocks[i].size_bytes = 512u * (1 + (unsigned)random() % 50);
	}
	for (unsigned round = 0; round < 20000; round++) {
		unsigned pick = (unsigned)random() % BLOCKS;
		uint64_t size_bytes = 512u * ((unsigned)random() % 53);
		uint64_t address = blocks[(unsigned)random() % BLOCKS].address;
		struct gsa_block *above = NULL;
		struct gsa_block *below = NULL;

		if (in[pick])
			gsa_tree_remove(&tree, &blocks[pick]);
		else
			gsa_tree_insert(&tree, &blocks[pick]);
		in[pick] = !in[pick];
		for (unsigned i = 0; i < BLOCKS; i++) {
			struct gsa_block *block = &blocks[i];

			if (!in[i])
				continue;
			if (before(block, size_bytes, address)) {
				if (below == NULL || before(below, block->size_bytes, block->address))
					below = block;
			} else if (above == NULL || !before(above, block->size_bytes, block->address)) {
				above = block;
			}
		}
		assert_ptr_equal(gsa_tree_above(tree, size_bytes, address), above);
		assert_ptr_equal(gsa_tree_below(tree, size_bytes, address), below);
	}
	free(blocks);
}

static void stays_shallow(void **state)
{
	struct gsa_block *blocks = calloc(20000, sizeof(*blocks));
	struct gsa_block *tree = NULL;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		blocks[i].address = 0x700000000000ull + i * (2ull << 20);
		blocks[i].size_bytes = 512ull * (i + 1);
		gsa_tree_insert(&tree, &blocks[i]);
	}
	assert_true(depth(tree) < 60);
	free(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_as_scan),
	    cmocka_unit_test(stays_shallow),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator trees", tests, NULL, NULL);
}
