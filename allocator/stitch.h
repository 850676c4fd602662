/* Stitching: a request that no run of free memory is long enough for is served from several, whose physical handles are
 * mapped a second time, one behind the other, at addresses of their own.
 *
 *   pool       [live][ free  a ][live][ free b ][live]      the blocks' home
 *   stitched         [    a     ][  b  ]                     one live block, while it lives; a and b are SHADOWS
 *
 * A *stitched segment* knows the runs of addresses in the large pool that it was made from: each is a row of whole
 * handles, without a gap. While a block lives in it, the memory is out of the pool's books: at home there are SHADOW
 * blocks. When that block is freed they are free at home at once, as if it had been freed there. The segment is kept,
 * mapped, and serves later requests of at most its size whenever its runs, or as much of them as the request needs, are
 * free for them: a program that repeats itself makes no driver call. Only whole runs are in the way of others; of the
 * last one only what the request needs is taken.
 *
 * Memory is never moved: the pool's own mappings stay where they are. Two addresses of one byte are never in use at a
 * time, and order between streams is kept as for any other memory, because what is taken is free for the request.
 *
 * The driver takes some 30 us for each handle that is mapped, so what is spent is bounded: GSA_STITCH_* in types.h. */
#ifndef GSA_STITCH_H
#define GSA_STITCH_H

#include <stdbool.h>

#include "allocator/types.h"

/* Serves the request from a segment kept from before: the detached block, NULL when there is none. ALLOCATOR lock held;
 * no driver call. */
struct gsa_block *gsa_stitch_take(struct gsa *allocator, const struct gsa_want *want);

/* Whether stitching should serve the request where new memory of new_bytes would do, too. ret_lack_bytes: how much must
 * be new all the same, less than new_bytes. ALLOCATOR lock held. */
bool gsa_stitch_pays(struct gsa *allocator, const struct gsa_want *want, uint64_t new_bytes, uint64_t *ret_lack_bytes);

/* Makes a segment for the request and serves it. GS_E_NOT_FOUND: there is not enough free memory. GROW held, ALLOCATOR
 * not. */
int gsa_stitch_make(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* The block of a stitched segment, detached (gsa_live_leave): its memory is free at home, PENDING under the tag or IDLE
 * when tag is NULL, or retired where it was shared. Cannot fail. ALLOCATOR lock held. */
void gsa_stitch_return(struct gsa *allocator, struct gsa_block *block, struct gsa_tag *tag);

/* Finds out whether work at the addresses of segments without a block is done, or waits for it. True when there is more
 * to drop then, perhaps. No lock held. */
bool gsa_stitch_learn(struct gsa *allocator, bool wait);

/* Unmaps the segments in which no block lives, at whose addresses all work is known to be done, and that nobody looks up
 * by their address. GROW held, ALLOCATOR not. */
void gsa_stitch_drop_unused(struct gsa *allocator);

/* Is the handle mapped in a stitched segment? Then it stays. ALLOCATOR lock held. */
bool gsa_stitch_maps(const struct gsa *allocator, const struct gsa_handle *handle);

/* Unmaps all of them; see gsa_fini. */
void gsa_stitch_fini(struct gsa *allocator);

#endif
