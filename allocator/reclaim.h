/* What happens when no free memory fits: the ladder, from cheap to dear. Called with no lock held. */
#ifndef GSA_RECLAIM_H
#define GSA_RECLAIM_H

#include "allocator/types.h"

/* Gives idle memory back until at most keep_bytes are idle; plain memory only where the device has no work, unless it may be
 * waited for. Returns the bytes given back. */
uint64_t gsa_reclaim_trim(struct gsa *allocator, uint64_t keep_bytes, bool wait);

/* Serves a request that nothing free fits. Errors as gsa_alloc. */
int gsa_reclaim_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* A block for a lane (want->loan), from what is free or new: nothing is given up for it. */
int gsa_reclaim_lend(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

#endif
