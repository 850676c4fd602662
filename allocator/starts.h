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

#include "allocator/types.h"
#include "shim/base/assert.h"

/* GS_E_NO_HOST_MEMORY. */
int gsa_starts_init(struct gsa_starts *starts, uint64_t address, uint64_t size_bytes, unsigned shift);
void gsa_starts_fini(struct gsa_starts *starts);

static inline uint64_t gsa_starts_unit(const struct gsa_starts *starts, uint64_t address)
{
	gsb_debug_assert(address >= starts->address && address - starts->address < starts->size_bytes);
	return (address - starts->address) >> starts->shift;
}

/* The bits of a unit that was empty, or has become so: up to the level at which another one below makes no difference. */
static inline void gsa_starts_mark(struct gsa_starts *starts, uint64_t unit)
{
	uint64_t *word, before;
	unsigned level = 0;

	do {
		word = &starts->bits[level][unit / 64];
		before = *word;
		*word = before | 1ull << unit % 64;
		unit /= 64;
	} while (before == 0 && ++level < starts->levels);
}

static inline void gsa_starts_unmark(struct gsa_starts *starts, uint64_t unit)
{
	uint64_t *word, after;
	unsigned level = 0;

	do {
		word = &starts->bits[level][unit / 64];
		after = *word & ~(1ull << unit % 64);
		*word = after;
		unit /= 64;
	} while (after == 0 && ++level < starts->levels);
}

/* The block has its place in the chain: after it got it, before it loses it. */
static inline void gsa_starts_add(struct gsa_starts *starts, struct gsa_block *block)
{
	uint64_t unit = gsa_starts_unit(starts, block->address);
	struct gsa_block *first = starts->first[unit];

	if (first == NULL) {
		starts->first[unit] = block;
		gsa_starts_mark(starts, unit);
	} else if (first->address > block->address) {
		starts->first[unit] = block;
	}
}

static inline void gsa_starts_drop(struct gsa_starts *starts, struct gsa_block *block)
{
	uint64_t unit = gsa_starts_unit(starts, block->address);
	struct gsa_block *next = block->next;

	if (starts->first[unit] != block)
		return;
	if (next != NULL && gsa_starts_unit(starts, next->address) == unit) {
		starts->first[unit] = next;
		return;
	}
	starts->first[unit] = NULL;
	gsa_starts_unmark(starts, unit);
}

/* Another block begins where this one does from now on. */
static inline void gsa_starts_replace(struct gsa_starts *starts, const struct gsa_block *block, struct gsa_block *other)
{
	uint64_t unit = gsa_starts_unit(starts, block->address);

	if (starts->first[unit] == block)
		starts->first[unit] = other;
}

/* The block that holds the address, which lies in the range. */
struct gsa_block *gsa_starts_find(const struct gsa_starts *starts, uint64_t address);

#endif
