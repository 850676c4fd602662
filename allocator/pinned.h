/* The cache of pinned host memory, one a process: driver allocations that the program has freed are kept, whole, and
 * serve later requests of the same kind and about the same size.
 *
 * Any device may still read or write memory that the host has freed. So a kept allocation is *pending* until a fence
 * over all streams of all devices, recorded after the free, is done; then it is *idle* and may serve. Fences are
 * recorded when somebody wants pending memory: what is freed and never wanted costs nothing. What is freed can be given
 * back to the driver at any moment, pending or not: that is what the program asked for; but the driver may wait then.
 *
 * Kinds are never mixed: flags, the context that the memory dies with, and the node whose memory it is. The allocations
 * themselves are made by the caller, who tells of each one; it does not matter if one is missed.
 *
 * Of struct gsa_ops are used plain_free, the fences over all streams, now_ns, and work_count, by which memory that is
 * freed while nothing is running is idle at once; plain_free gives memory back to the driver and gets the address alone.
 * Thread-safe; the lock is held across now_ns and work_count, which reach no driver, and not across the others. The
 * contents of memory that serves again are what they were. Addresses and sizes are in bytes. */
#ifndef GSA_PINNED_H
#define GSA_PINNED_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/ops.h"

struct gsa_pinned;

struct gsa_pinned_kind {
	uint64_t owner; /* context */
	uint32_t flags;
	uint32_t node;
};

/* A live allocation. */
struct gsa_pinned_info {
	uint64_t address;
	uint64_t size_bytes;	 /* as asked for */
	uint64_t reserved_bytes; /* as the driver made it */
	uint64_t serial;	 /* unique per allocation, never reused */
	struct gsa_pinned_kind kind;
};

struct gsa_pinned_stats {
	uint64_t live_bytes; /* as asked for */
	uint64_t kept_bytes; /* free, held */
	uint64_t kept_peak_bytes;
	uint64_t hits;	   /* allocations served from what was kept */
	uint64_t given_back; /* kept allocations returned to the driver */
};

/* limit_bytes: most memory to keep. */
int gsa_pinned_init(struct gsa_pinned **ret_pinned, const struct gsa_ops *ops, void *device, uint64_t limit_bytes);

/* Gives back what is kept. Only when no other thread can be inside; for tests. */
void gsa_pinned_fini(struct gsa_pinned *pinned);

/* Serves a request. GS_E_NOT_FOUND: the driver must be asked; then tell of it. For large requests it waits a moment for
 * pending memory, less than new memory would take. */
int gsa_pinned_take(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		    struct gsa_pinned_info *ret_info);

/* The driver made an allocation for the program. Not remembered if there is no host memory for our books. */
void gsa_pinned_add(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		    uint64_t address);

/* The program frees it: it is kept. GS_E_NOT_FOUND: no live allocation starts there. GS_E_LIMIT: it is larger than all
 * that may be kept, so that the driver must be asked (gsa_pinned_leave). */
int gsa_pinned_free(struct gsa_pinned *pinned, uint64_t address);

/* Around a free by the driver: while it lasts, the address may already be somebody else's. done: it is free. */
void gsa_pinned_leave(struct gsa_pinned *pinned, uint64_t address);
void gsa_pinned_left(struct gsa_pinned *pinned, uint64_t address, bool done);

/* The live allocation that contains the address. GS_E_NOT_FOUND. */
int gsa_pinned_find(struct gsa_pinned *pinned, uint64_t address, struct gsa_pinned_info *ret_info);

/* The address lies in memory that the program has freed and that is kept: the driver must not be asked about it. */
bool gsa_pinned_keeps(struct gsa_pinned *pinned, uint64_t address);

/* The host has waited for all work: what was freed before the mark was taken is idle. */
struct gsa_pinned_mark {
	uint64_t serial;
	uint64_t work;
};
struct gsa_pinned_mark gsa_pinned_mark(struct gsa_pinned *pinned);
void gsa_pinned_idle(struct gsa_pinned *pinned, struct gsa_pinned_mark mark);

/* All work that was submitted is known to be done. */
bool gsa_pinned_quiet(struct gsa_pinned *pinned);

/* The context is about to end: what is kept of it goes back to the driver. It has ended: what lived in it is gone. */
void gsa_pinned_owner_ending(struct gsa_pinned *pinned, uint64_t owner);
void gsa_pinned_owner_gone(struct gsa_pinned *pinned, uint64_t owner);

/* Gives back what is kept, oldest first, until at most keep_bytes are left. The driver waits for the device then: nothing is
 * given back while that has work, or it is waited for. Returns the bytes given back. */
uint64_t gsa_pinned_trim(struct gsa_pinned *pinned, uint64_t keep_bytes, bool wait);

/* Gives back what has been kept for at least age_ns, unless the device has work. */
uint64_t gsa_pinned_purge(struct gsa_pinned *pinned, uint64_t age_ns);

void gsa_pinned_stats_read(struct gsa_pinned *pinned, struct gsa_pinned_stats *ret_stats);

/* Walks everything and asserts every equation; for tests. */
void gsa_pinned_check(struct gsa_pinned *pinned);

#endif
