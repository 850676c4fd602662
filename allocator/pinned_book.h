/* The books of the cache of pinned memory, for pinned.c: allocations by address, by kind and size, and by age.
 *
 *   by age     oldest [idle][idle][idle] | [pending][pending] newest
 *                     free_serial <= idle_serial      > idle_serial
 *
 * Equations, proved by gsa_pinned_check:
 *   live_bytes, kept_bytes = sums over the map
 *   every kept block is in the queue, which is ordered by free_serial, and in one set of bins of its class: idle if its
 *   free_serial is at most idle_serial, else pending
 *   first_pending is the first block of the queue that is pending
 *   block_count of a class = its blocks in the map
 *
 * The lock is held for all functions. */
#ifndef GSA_PINNED_BOOK_H
#define GSA_PINNED_BOOK_H

#include <stddef.h>

#include "allocator/addr_map.h"
#include "allocator/bins.h"
#include "allocator/pinned.h"
#include "allocator/types.h"
#include "shim/base/assert.h"
#include "shim/base/lock.h"

#define PINNED_FENCES_MAX 8u

enum pinned_state { PINNED_LIVE, PINNED_KEPT, PINNED_LEAVING };

/* `entry` has address, sizes, serials, bin and queue links, and the time of the free. */
struct pinned_block {
	struct gsa_block entry;
	enum pinned_state state;
	struct pinned_class *class;
};

struct pinned_class {
	struct gsa_pinned_kind kind;
	struct pinned_class *next;
	size_t block_count;
	struct gsa_bins idle;
	struct gsa_bins pending;
};

struct pinned_fence {
	uint64_t value;
	uint64_t cover; /* highest free_serial that it covers */
	uint64_t work;	/* that had ended (work_count) before it was recorded */
};

struct gsa_pinned {
	struct gsa_ops ops; /* fixed at init, as are the next two */
	void *device;
	uint64_t limit_bytes;

	struct gsb_lock lock; /* guards the rest */
	struct gsa_map blocks;
	struct gsa_map_slabs map_slabs;
	struct gsb_slab block_slab;
	struct pinned_class *classes;
	struct gsa_block *oldest; /* of the kept */
	struct gsa_block *newest;
	struct gsa_block *first_pending;
	uint64_t serial;
	uint64_t free_serial;
	uint64_t idle_serial;
	uint64_t idle_work; /* that had ended by a moment before which all work is known to be done */
	struct pinned_fence fences[PINNED_FENCES_MAX]; /* under way, first recorded first */
	unsigned fence_count;
	bool fencing; /* a thread is at the driver about them */
	struct gsa_pinned_stats stats;
};

/* For whoever holds its lock: debug builds check that. */
static inline struct gsa_pinned *gsa_pinned_held(struct gsa_pinned *pinned)
{
	gsb_debug_assert(gsb_lock_held(&pinned->lock));
	return pinned;
}

static inline struct pinned_block *gsa_pinned_of(struct gsa_block *entry)
{
	return (struct pinned_block *)entry;
}

struct pinned_class *gsa_pinned_class_find(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind);

/* A new live block; what is known to overlap is forgotten. No host memory: nothing is remembered. */
void gsa_pinned_enter(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, uint64_t size_bytes,
		      uint64_t address);

/* Calls that may have submitted work and have ended; GSA_WORK_UNKNOWN. */
uint64_t gsa_pinned_work(struct gsa_pinned *pinned);

/* No work was submitted, nor is being, since all was known to be done. */
bool gsa_pinned_no_work(struct gsa_pinned *pinned);

/* Live or leaving -> kept: pending, or idle at once if no work has been submitted since all was known to be done. Kept ->
 * live. Any state -> forgotten. */
void gsa_pinned_keep(struct gsa_pinned *pinned, struct pinned_block *block);
void gsa_pinned_revive(struct gsa_pinned *pinned, struct pinned_block *block, uint64_t size_bytes);
void gsa_pinned_drop(struct gsa_pinned *pinned, struct pinned_block *block);

/* What was freed up to the serial is idle, and all work that had ended then is done. */
void gsa_pinned_settle(struct gsa_pinned *pinned, uint64_t serial, uint64_t work);

/* The block that contains the address, and the one that begins there, whatever the state; NULL. */
struct pinned_block *gsa_pinned_around(struct gsa_pinned *pinned, uint64_t address);
struct pinned_block *gsa_pinned_at(struct gsa_pinned *pinned, uint64_t address);

void gsa_pinned_describe(const struct pinned_block *block, struct gsa_pinned_info *ret_info);

#endif
