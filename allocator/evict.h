/* Taking idle memory out of the arena, a handle at a time: to give it back to the driver, or as *spares*, physical
 * memory without addresses, to map it again where memory is wanted. Idle means that no work of the program can touch
 * it: its fences are done.
 *
 * Spares keep what is held close to what is used where free memory lies in pieces too small for a request. Moving a
 * handle takes the driver some 50 us, and a program for which it must be done in every step again may be better off with
 * more memory: so moves may take only a small part of its time. The largest pieces stay as long as smaller ones will do. */
#ifndef GSA_EVICT_H
#define GSA_EVICT_H

#include "allocator/types.h"

/* Whether spares should serve a growth by size_bytes: there is idle memory worth it, and the budget allows it.
 * ALLOCATOR lock held. */
bool gsa_evict_pays(struct gsa *allocator, uint64_t size_bytes);

/* Unmaps idle handles that lie outside [from, to) and are together at most size_bytes large. Returns their list, linked
 * by next. GROW and ALLOCATOR held, the latter let go meanwhile. */
struct gsa_handle *gsa_evict_gather(struct gsa *allocator, uint64_t size_bytes, uint64_t from, uint64_t to,
				    uint64_t *ret_bytes);

/* Gives a list of spares to the driver; ALLOCATOR not held. */
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

#endif
