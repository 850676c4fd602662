/* The arena: one reservation of addresses a device, into which physical handles are mapped (grow.h) and from which they
 * are unmapped (evict.h). */
#ifndef GSA_ARENA_H
#define GSA_ARENA_H

#include "allocator/types.h"

/* Reserves the addresses if that has not been done. GROW held. GS_E_UNSUPPORTED: refused for good. */
int gsa_arena_reserve(struct gsa *allocator);

/* No growth in the arena from now on; says so. ALLOCATOR not held. */
void gsa_arena_refuse(struct gsa *allocator, const char *call, int error);

/* Gives everything back, whatever lies there. No lock held. */
void gsa_arena_fini(struct gsa *allocator);

#endif
