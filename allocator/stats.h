/* Keeping the figures of gsa.h true: one function for everything that enters or leaves a state. */
#ifndef GSA_STATS_H
#define GSA_STATS_H

#include "allocator/types.h"

/* A block in `state` entered (or left) the books. ALLOCATOR lock held. Leave before enter, or peaks are too high. */
void gsa_stats_enter(struct gsa *allocator, const struct gsa_block *block);
void gsa_stats_leave(struct gsa *allocator, const struct gsa_block *block);

/* ASIDE became LIVE, and LIVE became ASIDE: counted as an allocation, and as a free. */
void gsa_stats_retaken(struct gsa *allocator, const struct gsa_block *block);
void gsa_stats_aside(struct gsa *allocator, const struct gsa_block *block);

/* So much entered as free: PENDING, IDLE, or UNMAPPED, which is not counted. */
void gsa_stats_enter_free(struct gsa *allocator, enum gsa_block_state state, uint64_t size_bytes);

#endif
