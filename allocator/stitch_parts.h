/* What stitch.c, stitch_plan.c and stitch_make.c have in common: of the memory of stitched segments. The ALLOCATOR lock
 * is held for all functions. */
#ifndef GSA_STITCH_PARTS_H
#define GSA_STITCH_PARTS_H

#include "allocator/stitch.h"

/* The handles that lie wholly in the free memory from first on, which the request of the tag may have: add is called
 * for each, until it has enough and returns false. */
typedef bool gsa_stitch_add(void *user, struct gsa_handle *handle);
void gsa_stitch_walk_run(struct gsa *allocator, const struct gsa_block *first, const struct gsa_tag *tag,
			 gsa_stitch_add *add, void *user);

/* Of whole handles. */
uint64_t gsa_stitch_needed(const struct gsa *allocator, const struct gsa_want *want);

/* The memory at the address is free for the request, for so many bytes at least. */
bool gsa_stitch_is_free(struct gsa *allocator, uint64_t address, uint64_t size_bytes, const struct gsa_tag *tag);

/* Takes what the segment lends for its block, which is returned, from the pool. For each run two block nodes are
 * reserved. */
struct gsa_block *gsa_stitch_occupy(struct gsa *allocator, struct gsa_segment *segment, uint64_t size_bytes);

/* No block lives in it, no work may use its addresses, and nobody looks it up by them. */
bool gsa_stitch_can_go(struct gsa *allocator, const struct gsa_segment *segment);

/* Gives back its runs; it has none then. */
void gsa_stitch_forget_runs(struct gsa *allocator, struct gsa_segment *segment);

/* Gives back the nodes of a segment that is in no list. */
void gsa_stitch_forget(struct gsa *allocator, struct gsa_segment *segment);

#endif
