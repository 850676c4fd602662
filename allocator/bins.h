/* Free blocks by size: a block enters and leaves, and what fits well is found, in constant time.
 *
 *   bins     [ 512 ][ 1024 ] .. [ 4096, 4608) .. [ 8192, 9216) .. [16384, 18432) ..   8 to a doubling
 *   blocks     o-o     o            o-o-o            o                o-o
 *
 * A bin is a list, newest first. Two levels of bitmaps lead to the next bin that is not empty. A block knows its bin. Within a bin the best of
 * the first GSA_BIN_LOOKS blocks is taken: among a handful of free blocks, which is what programs have of one size and
 * more, that is the best fit; among a million it still takes no longer. Only where nothing larger is free either is the
 * rest of the bin looked at: what fits is always found, and then nothing dearer is done. No operation can fail. */
#ifndef GSA_BINS_H
#define GSA_BINS_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/types.h"
#include "shim/base/assert.h"

#define GSA_BIN_LOOKS 16u

/* The bin of a size. What is less than a unit, or not a multiple of it, counts as the multiple below. Sizes below 8 units have
 * a bin each. */
static inline unsigned gsa_bins_place(uint64_t size_bytes)
{
	uint64_t units = size_bytes / GSA_BIN_UNIT_BYTES;
	unsigned shift = (63u ^ (unsigned)__builtin_clzll(units | GSA_BIN_STEPS)) - GSA_BIN_STEPS_LOG;

	return shift * GSA_BIN_STEPS + (unsigned)(units >> shift);
}

static inline void gsa_bins_insert_at(struct gsa_bins *bins, struct gsa_block *block, unsigned bin)
{
	struct gsa_block *next = bins->first[bin];

	block->bin = (uint16_t)bin;
	block->bin_prev = NULL;
	block->bin_next = next;
	bins->first[bin] = block;
	if (next != NULL) {
		next->bin_prev = block;
		return;
	}
	bins->used[bin / 64] |= 1ull << bin % 64;
	bins->words |= 1u << bin / 64;
}

static inline void gsa_bins_insert(struct gsa_bins *bins, struct gsa_block *block)
{
	gsa_bins_insert_at(bins, block, gsa_bins_place(block->size_bytes));
}

/* The block must be there. */
static inline __attribute__((always_inline)) void gsa_bins_remove(struct gsa_bins *bins, struct gsa_block *block)
{
	unsigned bin = block->bin;
	struct gsa_block *next = block->bin_next;

	if (next != NULL)
		next->bin_prev = block->bin_prev;
	if (block->bin_prev != NULL) {
		block->bin_prev->bin_next = next;
		return;
	}
	gsb_debug_assert(bins->first[bin] == block);
	bins->first[bin] = next;
	if (next != NULL)
		return;
	bins->used[bin / 64] &= ~(1ull << bin % 64);
	if (bins->used[bin / 64] == 0)
		bins->words &= ~(1u << bin / 64);
}

/* The block, which is there, has become smaller or larger. */
static inline void gsa_bins_resized(struct gsa_bins *bins, struct gsa_block *block)
{
	unsigned bin = gsa_bins_place(block->size_bytes);

	if (bin == block->bin)
		return;
	gsa_bins_remove(bins, block);
	gsa_bins_insert_at(bins, block, bin);
}

/* A fit for size_bytes, the best of those looked at; NULL when nothing fits. The first: where there is something. */
struct gsa_block *gsa_bins_fit_any(const struct gsa_bins *bins, uint64_t size_bytes);

static inline struct gsa_block *gsa_bins_fit(const struct gsa_bins *bins, uint64_t size_bytes)
{
	return bins->words != 0 ? gsa_bins_fit_any(bins, size_bytes) : NULL;
}

/* One of the bin of the largest; NULL when there is none. */
struct gsa_block *gsa_bins_largest(const struct gsa_bins *bins);

/* Walks: some block of the bin of size_bytes or the next one used (those in that bin may be smaller), then the others,
 * bin by bin; NULL at the end. */
struct gsa_block *gsa_bins_from(const struct gsa_bins *bins, uint64_t size_bytes);
struct gsa_block *gsa_bins_next(const struct gsa_bins *bins, const struct gsa_block *block);

#endif
