/* Growing: physical memory, new or spare, is mapped into the arena where a request lacks it. */
#ifndef GSA_GROW_H
#define GSA_GROW_H

#include "allocator/types.h"

/* Maps what the request lacks and serves it. GS_E_NO_MEMORY: device, limit or arena are full; at most idle memory has
 * been given back. GS_E_UNSUPPORTED: virtual memory is refused for good or not wanted. GS_E_BUSY: memory was added, but
 * another thread took what it was to be joined with: call again; alone: it is joined with nothing, so that cannot be. No
 * lock held; GROW is taken inside and held across the driver's calls. */
int gsa_grow(struct gsa *allocator, const struct gsa_want *want, bool alone, struct gsa_block_info *ret_info);

#endif
