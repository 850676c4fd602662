/* Choosing the free block that serves a request. ALLOCATOR lock held; no driver call. */
#ifndef GSA_FIT_H
#define GSA_FIT_H

#include "allocator/bins.h"
#include "allocator/tag.h"
#include "allocator/types.h"

/* A block is about to serve the request: what was freed on another stream is counted. */
static inline void gsa_fit_note(struct gsa *allocator, const struct gsa_block *block, const struct gsa_request *request)
{
	if (block->state == GSA_BLOCK_IDLE && block->freed_on != 0 &&
	    (request->stream == NULL || block->freed_on != request->stream->id))
		allocator->stats.cross_stream++;
}

/* The tag whose memory the request may have besides idle memory; NULL when there is none. */
static inline struct gsa_tag *gsa_fit_tag(struct gsa *allocator, const struct gsa_request *request)
{
	return request->stream != NULL ? gsa_tag_find(allocator, request->stream->id) : NULL;
}

/* The best fit among what a request with this tag may have, as it lies in these bins; NULL when nothing fits. */
static inline struct gsa_block *gsa_fit_best(struct gsa *allocator, struct gsa_tag *tag, enum gsa_pool pool, uint64_t size_bytes,
					     struct gsa_bins **ret_bins)
{
	struct gsa_block *best = gsa_bins_fit(*ret_bins = &allocator->idle[pool], size_bytes), *own;

	own = tag != NULL ? gsa_bins_fit(&tag->bins[pool], size_bytes) : NULL;
	if (own == NULL || (best != NULL && best->size_bytes < own->size_bytes))
		return best;
	*ret_bins = &tag->bins[pool];
	return own;
}

/* PyTorch's max_split_size_mb: not every block may be cut. */
static inline bool gsa_fit_cuts_little(const struct gsa *allocator)
{
	return allocator->options.max_split_bytes != 0 && !allocator->options.expandable;
}

/* Takes the best fit among what the request may have: idle memory, and memory freed on its own stream. Neighbours that
 * are free in these two ways are put together only when nothing else fits, and after that a stitched segment may serve.
 * Needs one reserved block node. Returns a detached block, NULL when nothing fits. */
struct gsa_block *gsa_fit_take(struct gsa *allocator, const struct gsa_want *want);

/* Free for requests that may have the tag's memory. */
static inline bool gsa_fit_usable(const struct gsa_block *block, const struct gsa_tag *tag)
{
	return block->state == GSA_BLOCK_IDLE || (block->state == GSA_BLOCK_PENDING && block->tag == tag);
}

/* How far the memory that the request may have goes on without a gap before (after) a block. */
uint64_t gsa_fit_before(const struct gsa_block *block, const struct gsa_tag *tag);
uint64_t gsa_fit_after(const struct gsa_block *block, const struct gsa_tag *tag);

#endif
