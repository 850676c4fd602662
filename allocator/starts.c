/* See starts.h. */
#include "allocator/starts.h"

#include "allocator/types.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

static uint64_t words_for(uint64_t bits)
{
	return (bits + 63) / 64;
}

int gsa_starts_init(struct gsa_starts *starts, uint64_t address, uint64_t size_bytes, unsigned shift)
{
	uint64_t units = (size_bytes >> shift) + 1;
	uint64_t words = units;
	uint64_t level_words[GSA_STARTS_LEVELS];
	unsigned levels = 0;
	uint64_t *pages;

	for (uint64_t bits = units; levels < GSA_STARTS_LEVELS && (levels == 0 || bits > 1); levels++) {
		bits = words_for(bits);
		level_words[levels] = bits;
		words += bits;
	}
	gsb_assert(level_words[levels - 1] == 1);
	pages = gsb_os_pages_map(words * sizeof(uint64_t));
	if (pages == NULL)
		return GS_E_NO_HOST_MEMORY;
	*starts = (struct gsa_starts){.address = address,
				      .size_bytes = size_bytes,
				      .shift = shift,
				      .levels = levels,
				      .first = (struct gsa_block **)pages,
				      .pages = pages,
				      .pages_bytes = words * sizeof(uint64_t)};
	pages += units;
	for (unsigned level = 0; level < levels; level++) {
		starts->bits[level] = pages;
		pages += level_words[level];
	}
	return GS_OK;
}

void gsa_starts_fini(struct gsa_starts *starts)
{
	if (starts->pages != NULL)
		gsb_os_pages_unmap(starts->pages, starts->pages_bytes);
	*starts = (struct gsa_starts){0};
}

/* The last unit before this one in which a block begins. There is one: the first block begins where the range does. */
static uint64_t unit_before(const struct gsa_starts *starts, uint64_t unit)
{
	unsigned level = 0;
	uint64_t bits;

	for (;; level++, unit /= 64) {
		gsb_assert(level < starts->levels);
		bits = starts->bits[level][unit / 64] & ((1ull << unit % 64) - 1);
		if (bits != 0)
			break;
	}
	unit = unit / 64 * 64 + 63 - (unsigned)__builtin_clzll(bits);
	while (level-- > 0)
		unit = unit * 64 + 63 - (unsigned)__builtin_clzll(starts->bits[level][unit]);
	return unit;
}

struct gsa_block *gsa_starts_find(const struct gsa_starts *starts, uint64_t address)
{
	uint64_t unit = gsa_starts_unit(starts, address);
	struct gsa_block *block = starts->first[unit];

	if (block == NULL || block->address > address)
		block = starts->first[unit_before(starts, unit)];
	while (gsa_block_end(block) <= address)
		block = block->next;
	return block;
}
