/* Pinned host memory: the process's cache of it (allocator/pinned.h) bound to the driver. There is none with
 * pinned_cache:False, and before the first allocation. Thread-safe. */
#ifndef GS_CORE_HOST_H
#define GS_CORE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/pinned.h"

/* The cache, made if it is not there yet; NULL: there is none, and none can be made. */
struct gsa_pinned *gs_host_cache(void);

/* The same if it is there; NULL. */
struct gsa_pinned *gs_host_known(void);

/* Freed by the program and kept: what the driver says about the address is not what the program is to hear. */
bool gs_host_keeps(uint64_t address);

/* What to ask the driver about instead of the address: the same, or for what is kept an address that is nothing to it, as
 * the freed one would be. */
void *gs_host_asked(void *address);

/* A live allocation that we know, at or around the address. */
bool gs_host_find(uint64_t address, struct gsa_pinned_info *ret_info);

/* Around a wait of the host for everything. */
struct gsa_pinned_mark gs_host_mark(void);
void gs_host_idle(struct gsa_pinned_mark mark);

/* Gives what is kept back to the driver; wait: also what the driver may wait for. Returns the bytes given back. */
uint64_t gs_host_trim(bool wait);

/* A context is about to end; it has ended. owner: its handle. */
void gs_host_context_ending(uint64_t owner);
void gs_host_context_gone(uint64_t owner);

#endif
