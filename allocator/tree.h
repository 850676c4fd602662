/* Free blocks by (size, address): best fit and the lowest address among equals.
 *
 * A treap whose priorities are hashes of the addresses: no balance field, no parent pointers, the same shape whatever
 * the order of insertion. A tree is the pointer to its root. No operation can fail. */
#ifndef GSA_TREE_H
#define GSA_TREE_H

#include "allocator/types.h"

void gsa_tree_insert(struct gsa_block **tree, struct gsa_block *block);

/* The block must be there, its size and address unchanged since it was inserted. */
void gsa_tree_remove(struct gsa_block **tree, struct gsa_block *block);

/* The first block at or above (size_bytes, address), the last one strictly below; NULL when there is none. */
struct gsa_block *gsa_tree_above(struct gsa_block *tree, uint64_t size_bytes, uint64_t address);
struct gsa_block *gsa_tree_below(struct gsa_block *tree, uint64_t size_bytes, uint64_t address);

#endif
