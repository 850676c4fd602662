/* See bins.h. */
#include "allocator/bins.h"

#include <limits.h>

/* The next used bin above; NULL when there is none. */
static struct gsa_block *bin_above(const struct gsa_bins *bins, unsigned bin)
{
	unsigned word = bin / 64;
	uint64_t above = bins->used[word] & ~1ull << bin % 64;
	unsigned words;

	if (above == 0) {
		words = bins->words & ~1u << word;
		if (words == 0)
			return NULL;
		word = (unsigned)__builtin_ctz(words);
		above = bins->used[word];
	}
	return bins->first[word * 64 + (unsigned)__builtin_ctzll(above)];
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

/* Of blocks that all fit. */
static struct gsa_block *smallest_of(struct gsa_block *block)
{
	struct gsa_block *best = block;

	for (unsigned looks = 1; (block = block->bin_next) != NULL && looks < GSA_BIN_LOOKS; looks++)
		if (block->size_bytes < best->size_bytes)
			best = block;
	return best;
}

struct gsa_block *gsa_bins_fit_any(const struct gsa_bins *bins, uint64_t size_bytes)
{
	unsigned bin = gsa_bins_place(size_bytes);
	struct gsa_block *own = bins->first[bin], *best, *above;

	if (own != NULL && (best = best_of(own, size_bytes, GSA_BIN_LOOKS)) != NULL)
		return best;
	above = bin_above(bins, bin);
	return above != NULL ? smallest_of(above) : best_of(own, size_bytes, UINT_MAX);
}

struct gsa_block *gsa_bins_largest(const struct gsa_bins *bins)
{
	unsigned word;

	if (bins->words == 0)
		return NULL;
	word = 31u - (unsigned)__builtin_clz(bins->words);
	return bins->first[word * 64 + 63u - (unsigned)__builtin_clzll(bins->used[word])];
}

struct gsa_block *gsa_bins_from(const struct gsa_bins *bins, uint64_t size_bytes)
{
	unsigned bin = gsa_bins_place(size_bytes);

	return bins->first[bin] != NULL ? bins->first[bin] : bin_above(bins, bin);
}

struct gsa_block *gsa_bins_next(const struct gsa_bins *bins, const struct gsa_block *block)
{
	return block->bin_next != NULL ? block->bin_next : bin_above(bins, block->bin);
}
