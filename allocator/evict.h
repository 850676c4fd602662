/* Taking idle memory out of the arena, a handle at a time, to give it back to the driver. Idle means that no work of the
 * program can touch it: its fences are done. */
#ifndef GSA_EVICT_H
#define GSA_EVICT_H

#include "allocator/types.h"

/* Gives a list of handles, linked by next, to the driver: they are mapped nowhere. ALLOCATOR not held. */
void gsa_evict_release(struct gsa *allocator, struct gsa_handle *spares);

/* Cuts the handle's memory out of the idle block that it lies in and detaches it; NULL when there is no node. ALLOCATOR
 * lock held. */
struct gsa_block *gsa_evict_detach(struct gsa *allocator, struct gsa_block *block, const struct gsa_handle *handle);

/* Unmaps the memory of a detached block, which is one handle's. GROW and ALLOCATOR held, the latter let go meanwhile. The
 * handle leaves the map and its node is the caller's. If the driver does not want to, the block is idle as before. */
int gsa_evict_unmap(struct gsa *allocator, struct gsa_block *block, struct gsa_handle *handle);

/* Unmaps and releases handles that lie wholly in idle memory, from the end of the pools to their beginning, until at
 * most keep_bytes are idle. Returns the bytes given back. No lock held. */
uint64_t gsa_evict_trim(struct gsa *allocator, uint64_t keep_bytes);

/* All that is known to be idle, unless somebody is at it. */
uint64_t gsa_evict_trim_try(struct gsa *allocator);

#endif
