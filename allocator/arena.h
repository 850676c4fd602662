/* The arena: one reservation of addresses a device, into which physical handles are mapped and from which they are
 * unmapped. Nothing here is called with a lock held; GROW is taken inside and held across the driver's calls. */
#ifndef GSA_ARENA_H
#define GSA_ARENA_H

#include "allocator/types.h"

/* Maps what the request lacks and serves it. GS_E_NO_MEMORY: device, limit or arena are full; nothing has changed.
 * GS_E_UNSUPPORTED: virtual memory is refused for good or not wanted. GS_E_BUSY: memory was added, but another thread
 * took what it was to be joined with: call again. */
int gsa_arena_grow(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* Unmaps and releases handles that lie wholly in idle memory, from the end of the pools to their beginning, until at
 * most keep_bytes are idle. Returns the bytes given back. */
uint64_t gsa_arena_trim(struct gsa *allocator, uint64_t keep_bytes);

/* No growth in the arena from now on; says so. */
void gsa_arena_refuse(struct gsa *allocator, const char *call, int error);

/* Gives everything back, whatever lies there. */
void gsa_arena_fini(struct gsa *allocator);

#endif
