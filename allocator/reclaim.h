/* What happens when no free memory fits: the ladder, from cheap to dear. Called with no lock held. */
#ifndef GSA_RECLAIM_H
#define GSA_RECLAIM_H

#include "allocator/types.h"

/* Serves a request that nothing free fits. Errors as gsa_alloc. */
int gsa_reclaim_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

#endif
