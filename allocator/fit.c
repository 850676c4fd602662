/* See fit.h. */
#include "allocator/fit.h"

#include "allocator/aside.h"
#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/stitch.h"
#include "allocator/tag.h"
#include "shim/base/assert.h"

uint64_t gsa_fit_before(const struct gsa_block *block, const struct gsa_tag *tag)
{
	uint64_t bytes = 0;

	while ((block = block->prev) != NULL && gsa_fit_usable(block, tag))
		bytes += block->size_bytes;
	return bytes;
}

uint64_t gsa_fit_after(const struct gsa_block *block, const struct gsa_tag *tag)
{
	uint64_t bytes = 0;

	while ((block = block->next) != NULL && gsa_fit_usable(block, tag))
		bytes += block->size_bytes;
	return bytes;
}

static struct gsa_block *smaller(struct gsa_block *block, struct gsa_block *other)
{
	if (block == NULL || (other != NULL && other->size_bytes <= block->size_bytes))
		return other;
	return block;
}

/* A cached plain segment of the same owner that is not much too large. */
static struct gsa_block *whole_fit(const struct gsa_bins *bins, const struct gsa_request *request, uint64_t size_bytes)
{
	uint64_t most_bytes = size_bytes + size_bytes / (GSA_PLAIN_WASTE_SHARE - 1);
	struct gsa_block *block = gsa_bins_from(bins, size_bytes);
	struct gsa_block *best = NULL;
	unsigned looks = 0;

	for (; block != NULL && looks < GSA_BIN_LOOKS; looks++, block = gsa_bins_next(bins, block))
		if (block->size_bytes >= size_bytes && block->size_bytes <= most_bytes &&
		    block->segment->owner == request->owner)
			best = smaller(best, block);
	return best;
}

/* The smallest run of neighbours that are idle or freed under the tag, with at least one of the latter (idle neighbours
 * alone have merged already), and long enough. Returns its first block. */
static struct gsa_block *run_fit(struct gsa_tag *tag, const struct gsa_want *want)
{
	struct gsa_block *best = NULL;
	uint64_t best_bytes = UINT64_MAX;

	for (struct gsa_block *block = tag->oldest; block != NULL; block = block->queue_next) {
		struct gsa_segment *segment = block->segment;
		struct gsa_block *first = block;
		uint64_t bytes = block->size_bytes;

		if (segment->pool != want->pool)
			continue;
		if (block->prev != NULL && block->prev->segment == segment && gsa_fit_usable(block->prev, tag)) {
			first = block->prev;
			bytes += first->size_bytes;
			if (first->prev != NULL && first->prev->segment == segment && gsa_fit_usable(first->prev, tag))
				continue; /* another block of the tag comes earlier in this run */
		}
		for (struct gsa_block *next = block->next;
		     next != NULL && next->segment == segment && gsa_fit_usable(next, tag); next = next->next)
			bytes += next->size_bytes;
		if (bytes >= want->size_bytes && bytes < best_bytes) {
			best = first;
			best_bytes = bytes;
		}
	}
	return best;
}

/* PyTorch's max_split_size_mb: a block above it serves whole, or not at all. */
static struct gsa_block *uncut(const struct gsa *allocator, struct gsa_block *block, uint64_t *size_bytes)
{
	uint64_t most_bytes = allocator->options.max_split_bytes;

	if (block == NULL || block->size_bytes <= most_bytes || block->size_bytes == *size_bytes)
		return block;
	if (*size_bytes < most_bytes || block->size_bytes - *size_bytes >= GSA_SPLIT_WASTE_BYTES)
		return NULL;
	*size_bytes = block->size_bytes;
	return block;
}

struct gsa_block *gsa_fit_take(struct gsa *allocator, const struct gsa_want *want)
{
	const struct gsa_request *request = want->request;
	struct gsa_tag *tag = gsa_fit_tag(allocator, request);
	struct gsa_bins *bins;
	struct gsa_block *best = gsa_fit_best(allocator, tag, want->pool, want->size_bytes, &bins);
	uint64_t size_bytes = want->size_bytes;

	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	while (best == NULL && want->pool == GSA_POOL_SMALL && request->stream != NULL &&
	       gsa_aside_empty_longest(allocator, request->stream->id)) {
		tag = gsa_fit_tag(allocator, request);
		best = gsa_fit_best(allocator, tag, want->pool, want->size_bytes, &bins);
	}
	if (gsa_fit_cuts_little(allocator))
		best = uncut(allocator, best, &size_bytes);
	if (best == NULL && !request->lasting) {
		best = whole_fit(&allocator->idle[GSA_POOL_PLAIN], request, size_bytes);
		if (tag != NULL)
			best = smaller(best, whole_fit(&tag->bins[GSA_POOL_PLAIN], request, size_bytes));
		if (best != NULL)
			size_bytes = best->size_bytes;
	}
	if (best == NULL && tag != NULL && !gsa_fit_cuts_little(allocator))
		best = run_fit(tag, want);
	if (best == NULL) {
		best = gsa_stitch_take(allocator, want);
		goto retire;
	}
	gsa_fit_note(allocator, best, request);
	best = gsa_block_take(allocator, best, size_bytes);
retire:
	if (best != NULL && tag != NULL)
		gsa_tag_retire(allocator, tag);
	return best;
}
