/* The bounded history of events: the newest `capacity` are kept, the older ones are counted.
 *
 * Any thread may add at any time, without a lock and without waiting. A reader copies a consistent stretch while
 * others add; an entry that is overwritten during the copy is left out, never torn.
 *
 * Threads that get in each other's way take numbers by *runs*: a thread whose events follow each other closely, with others'
 * in between, gets up to RUN_MOST numbers at once, which are then its own. So the order of events is that of their times, not
 * of their numbers, and some numbers are nobody's event; a run is given up before that costs much of the history. A thread that
 * is alone, or slow, takes each number when it needs it. */
#ifndef GS_WATCH_RING_H
#define GS_WATCH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/watch/event.h"

/* capacity 0: no history; gs_ring_add then does nothing. Rounded up to a power of two. Called once, at start. */
int gs_ring_init(size_t capacity);

/* The same in slots of the caller's that are all zero (shim/watch/kept.h), as many as gs_ring_slots tells. Without runs: who
 * reads them is not told of these. */
struct gs_ring_slot;
size_t gs_ring_slots(size_t capacity);
void gs_ring_init_at(struct gs_ring_slot *slots, size_t count);

/* What a thread has of the ring: in its block of counters (shim/core/counter.h). */
struct gs_ring_run {
	uint64_t next, end; /* numbers that are its own */
	bool crowded;	    /* the rest counts, too */
	bool met;	    /* others took numbers since the run before */
	unsigned length;    /* of this run */
	uint64_t since_ns;  /* time of the event for which it got the run */
};

void gs_ring_add(const struct gs_event *event);

/* The number behind the last one taken, and that of the oldest event that can still be read. */
uint64_t gs_ring_end(void);
uint64_t gs_ring_begin(void);

/* Events ever added with a number below `end`, which gs_ring_end told. True when nobody adds; looks at all slots. */
uint64_t gs_ring_added(uint64_t end);

/* Copies event number `index` (counted from the start of the process). 0, or GS_E_NOT_FOUND if it is gone, or was none. */
int gs_ring_read(uint64_t index, struct gs_event *ret_event);

#endif
