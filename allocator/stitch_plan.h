/* The plan of a stitched segment: handles in the order in which they will lie at its addresses, free for the request.
 * It may be that of a segment from before, of which some handles change. The ALLOCATOR lock is held for all functions. */
#ifndef GSA_STITCH_PLAN_H
#define GSA_STITCH_PLAN_H

#include <stddef.h>

#include "allocator/types.h"

#define GSA_STITCH_SPARES 64u

/* A place in the segment. */
struct gsa_slot {
	struct gsa_handle *handle;
	bool lacks;	    /* the handle must be replaced by free ones */
	bool fresh;	    /* to be mapped */
	uint64_t old_bytes; /* of the handle that is mapped there; 0: none */
};

/* A segment being made; zero at first, but for the tag and need_bytes. */
struct gsa_making {
	struct gsa_segment *segment;
	struct gsa_block *block;
	struct gsa_tag *tag; /* of the request; pinned */
	uint64_t need_bytes;
	struct gsa_slot *slots;
	size_t slot_count, slot_capacity;
	uint64_t slot_bytes; /* of their handles */
	struct gsa_handle *spares[GSA_STITCH_SPARES]; /* free, and of no size that is lacking */
	size_t spare_count;
	size_t lacking;	     /* slots */
	bool again;	     /* the segment has its addresses */
	int error;
};

/* Fills the plan, or says in `error` why not. segment: the one whose plan it changes, if `again`. */
void gsa_stitch_plan(struct gsa *allocator, const struct gsa_want *want, struct gsa_making *making);

/* The plan as runs of the segment; what runs it had are given back. */
int gsa_stitch_make_runs(struct gsa *allocator, struct gsa_making *making);

void gsa_stitch_plan_drop(struct gsa_making *making);

#endif
