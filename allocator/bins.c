/* See bins.h. */
#include "allocator/bins.h"

#include <limits.h>
#include <stddef.h>

#include "allocator/types.h"
#include "shim/base/assert.h"

struct place {
	unsigned level;
	unsigned step;
};

_Static_assert(GSA_BIN_STEPS == 8, "a level's bitmap is one byte");

/* Sizes below 8 units have a bin each, on level 0; from there a level is a doubling. */
static struct place place_of(uint64_t size_bytes)
{
	uint64_t units = size_bytes / GSA_BIN_UNIT_BYTES;
	unsigned log;

	if (units < GSA_BIN_STEPS)
		return (struct place){0, (unsigned)units};
	log = 63u - (unsigned)__builtin_clzll(units);
	return (struct place){log - 2, (unsigned)(units >> (log - 3)) & (GSA_BIN_STEPS - 1)};
}

/* The next used bin above; NULL when there is none. */
static struct gsa_block *bin_above(const struct gsa_bins *bins, struct place place)
{
	unsigned steps = bins->used[place.level] & ~((2u << place.step) - 1);
	uint64_t levels;

	if (steps != 0)
		return bins->first[place.level][__builtin_ctz(steps)];
	levels = bins->levels & ~((2ull << place.level) - 1);
	if (levels == 0)
		return NULL;
	place.level = (unsigned)__builtin_ctzll(levels);
	return bins->first[place.level][__builtin_ctz(bins->used[place.level])];
}

void gsa_bins_insert(struct gsa_bins *bins, struct gsa_block *block)
{
	struct place place = place_of(block->size_bytes);
	struct gsa_block **first = &bins->first[place.level][place.step];

	block->bin_prev = NULL;
	block->bin_next = *first;
	if (*first != NULL)
		(*first)->bin_prev = block;
	*first = block;
	bins->used[place.level] |= (uint8_t)(1u << place.step);
	bins->levels |= 1ull << place.level;
}

void gsa_bins_remove(struct gsa_bins *bins, struct gsa_block *block)
{
	struct place place;

	if (block->bin_next != NULL)
		block->bin_next->bin_prev = block->bin_prev;
	if (block->bin_prev != NULL) {
		block->bin_prev->bin_next = block->bin_next;
		return;
	}
	place = place_of(block->size_bytes);
	gsb_debug_assert(bins->first[place.level][place.step] == block);
	bins->first[place.level][place.step] = block->bin_next;
	if (block->bin_next != NULL)
		return;
	bins->used[place.level] &= (uint8_t) ~(1u << place.step);
	if (bins->used[place.level] == 0)
		bins->levels &= ~(1ull << place.level);
}

static struct gsa_block *best_of(struct gsa_block *block, uint64_t size_bytes, unsigned looks)
{
	struct gsa_block *best = NULL;

	for (; block != NULL && looks > 0; looks--, block = block->bin_next) {
		if (block->size_bytes == size_bytes)
			return block;
		if (block->size_bytes > size_bytes && (best == NULL || block->size_bytes < best->size_bytes))
			best = block;
	}
	return best;
}

struct gsa_block *gsa_bins_fit_any(const struct gsa_bins *bins, uint64_t size_bytes)
{
	struct place place = place_of(size_bytes);
	struct gsa_block *own = bins->first[place.level][place.step];
	struct gsa_block *best = best_of(own, size_bytes, GSA_BIN_LOOKS);

	if (best == NULL)
		best = best_of(bin_above(bins, place), size_bytes, GSA_BIN_LOOKS);
	return best != NULL ? best : best_of(own, size_bytes, UINT_MAX);
}

struct gsa_block *gsa_bins_largest(const struct gsa_bins *bins)
{
	unsigned level;

	if (bins->levels == 0)
		return NULL;
	level = 63u - (unsigned)__builtin_clzll(bins->levels);
	return bins->first[level][31u - (unsigned)__builtin_clz(bins->used[level])];
}

struct gsa_block *gsa_bins_from(const struct gsa_bins *bins, uint64_t size_bytes)
{
	struct place place = place_of(size_bytes);
	struct gsa_block *first = bins->first[place.level][place.step];

	return first != NULL ? first : bin_above(bins, place);
}

struct gsa_block *gsa_bins_next(const struct gsa_bins *bins, const struct gsa_block *block)
{
	return block->bin_next != NULL ? block->bin_next : bin_above(bins, place_of(block->size_bytes));
}
