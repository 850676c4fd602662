/* Choosing the free block that serves a request. ALLOCATOR lock held; no driver call. */
#ifndef GSA_FIT_H
#define GSA_FIT_H

#include "allocator/types.h"

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

/* The tag whose memory the request may have besides idle memory; NULL when there is none. */
struct gsa_tag *gsa_fit_tag(struct gsa *allocator, const struct gsa_request *request);

#endif
