/* Free blocks by size: a block enters and leaves, and what fits well is found, in constant time.
 *
 *   bins     [ 512 ][ 1024 ] .. [ 4096, 4608) .. [ 8192, 9216) .. [16384, 18432) ..   8 to a doubling
 *   blocks     o-o     o            o-o-o            o                o-o
 *
 * A bin is a list, newest first. Two levels of bitmaps lead to the next bin that is not empty. Within a bin the best of
 * the first GSA_BIN_LOOKS blocks is taken: among a handful of free blocks, which is what programs have of one size and
 * more, that is the best fit; among a million it still takes no longer. Only where nothing larger is free either is the
 * rest of the bin looked at: what fits is always found, and then nothing dearer is done. No operation can fail. */
#ifndef GSA_BINS_H
#define GSA_BINS_H

#include <stddef.h>
#include <stdint.h>

struct gsa_block;

#define GSA_BIN_UNIT_BYTES 512u /* of sizes; what is less, or not a multiple, counts as the multiple below */
#define GSA_BIN_STEPS 8u	/* bins to a doubling */
#define GSA_BIN_LEVELS 40u	/* sizes below 2^51 bytes */
#define GSA_BIN_LOOKS 16u

struct gsa_bins {
	uint64_t levels;	      /* bit l: some bin of level l is used */
	uint8_t used[GSA_BIN_LEVELS]; /* bit s: bin s of the level is used */
	struct gsa_block *first[GSA_BIN_LEVELS][GSA_BIN_STEPS];
};

void gsa_bins_insert(struct gsa_bins *bins, struct gsa_block *block);

/* The block must be there, its size unchanged since it was inserted. */
void gsa_bins_remove(struct gsa_bins *bins, struct gsa_block *block);

/* A fit for size_bytes, the best of those looked at; NULL when nothing fits. The first: where there is something. */
struct gsa_block *gsa_bins_fit_any(const struct gsa_bins *bins, uint64_t size_bytes);

static inline struct gsa_block *gsa_bins_fit(const struct gsa_bins *bins, uint64_t size_bytes)
{
	return bins->levels != 0 ? gsa_bins_fit_any(bins, size_bytes) : NULL;
}

/* One of the bin of the largest; NULL when there is none. */
struct gsa_block *gsa_bins_largest(const struct gsa_bins *bins);

/* Walks: some block of the bin of size_bytes or the next one used (those in that bin may be smaller), then the others,
 * bin by bin; NULL at the end. */
struct gsa_block *gsa_bins_from(const struct gsa_bins *bins, uint64_t size_bytes);
struct gsa_block *gsa_bins_next(const struct gsa_bins *bins, const struct gsa_block *block);

#endif
