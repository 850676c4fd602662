/* See tree.h. */
#include "allocator/tree.h"

#include "shim/base/assert.h"

static bool key_less(const struct gsa_block *block, uint64_t size_bytes, uint64_t address)
{
	return block->size_bytes != size_bytes ? block->size_bytes < size_bytes : block->address < address;
}

static uint64_t priority(const struct gsa_block *block)
{
	uint64_t mixed = block->address * 0x9e3779b97f4a7c15ull;

	return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull;
}

void gsa_tree_insert(struct gsa_block **tree, struct gsa_block *block)
{
	uint64_t block_priority = priority(block);
	struct gsa_block **left = &block->left;
	struct gsa_block **right = &block->right;
	struct gsa_block *below;

	while (*tree != NULL && priority(*tree) >= block_priority)
		tree = key_less(*tree, block->size_bytes, block->address) ? &(*tree)->right : &(*tree)->left;
	below = *tree;
	*tree = block;
	while (below != NULL) {
		if (key_less(below, block->size_bytes, block->address)) {
			*left = below;
			left = &below->right;
			below = below->right;
		} else {
			*right = below;
			right = &below->left;
			below = below->left;
		}
	}
	*left = NULL;
	*right = NULL;
}

void gsa_tree_remove(struct gsa_block **tree, struct gsa_block *block)
{
	struct gsa_block *left = block->left;
	struct gsa_block *right = block->right;

	while (*tree != block) {
		gsb_assert(*tree != NULL);
		tree = key_less(*tree, block->size_bytes, block->address) ? &(*tree)->right : &(*tree)->left;
	}
	while (left != NULL && right != NULL) {
		if (priority(left) >= priority(right)) {
			*tree = left;
			tree = &left->right;
			left = left->right;
		} else {
			*tree = right;
			tree = &right->left;
			right = right->left;
		}
	}
	*tree = left != NULL ? left : right;
}

struct gsa_block *gsa_tree_above(struct gsa_block *tree, uint64_t size_bytes, uint64_t address)
{
	struct gsa_block *best = NULL;

	while (tree != NULL) {
		if (key_less(tree, size_bytes, address)) {
			tree = tree->right;
		} else {
			best = tree;
			tree = tree->left;
		}
	}
	return best;
}

struct gsa_block *gsa_tree_below(struct gsa_block *tree, uint64_t size_bytes, uint64_t address)
{
	struct gsa_block *best = NULL;

	while (tree != NULL) {
		if (key_less(tree, size_bytes, address)) {
			best = tree;
			tree = tree->right;
		} else {
			tree = tree->left;
		}
	}
	return best;
}
