/* Where blocks begin: from any address of a range to the block that holds it, in constant time.
 *
 * The range is cut into units; each knows the first block that begins in it, and blocks know their neighbours. For an
 * address in a unit where no block begins, bitmaps lead back to the last unit before it where one does.
 *
 *   first   [ a ][   ][   ][ b ][ d ]        units
 *   blocks  [a             ][b][c][d ..
 *
 * Every block of the range's chain is entered, whatever its state, so nothing here changes when a block is allocated or
 * freed whole. The unit is chosen so small that few blocks begin in one. Pages of the table that were never written
 * cost nothing, and no operation but the first can fail. */
#ifndef GSA_STARTS_H
#define GSA_STARTS_H

#include <stddef.h>
#include <stdint.h>

struct gsa_block;

#define GSA_STARTS_LEVELS 5u /* 2^30 units */

struct gsa_starts {
	uint64_t address; /* of the range; 0: not in use */
	uint64_t size_bytes;
	unsigned shift; /* log2 of the unit */
	unsigned levels;
	struct gsa_block **first;
	uint64_t *bits[GSA_STARTS_LEVELS]; /* bit: unit, then word of the level below, that is not empty */
	void *pages;
	size_t pages_bytes;
};

/* GS_E_NO_HOST_MEMORY. */
int gsa_starts_init(struct gsa_starts *starts, uint64_t address, uint64_t size_bytes, unsigned shift);
void gsa_starts_fini(struct gsa_starts *starts);

/* The block has its place in the chain: after it got it, before it loses it. */
void gsa_starts_add(struct gsa_starts *starts, struct gsa_block *block);
void gsa_starts_drop(struct gsa_starts *starts, struct gsa_block *block);

/* The block that holds the address, which lies in the range. */
struct gsa_block *gsa_starts_find(const struct gsa_starts *starts, uint64_t address);

#endif
