/* Blocks for a test of its own: all zero, and aligned as their type wants. */
#ifndef TESTS_GSA_BLOCKS_H
#define TESTS_GSA_BLOCKS_H

#include <stdlib.h>
#include <string.h>

#include "allocator/types.h"

static inline struct gsa_block *blocks_new(size_t count)
{
	struct gsa_block *blocks = aligned_alloc(_Alignof(struct gsa_block), count * sizeof(*blocks));

	return blocks != NULL ? memset(blocks, 0, count * sizeof(*blocks)) : NULL;
}

#endif
