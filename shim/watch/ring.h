/* The bounded history of events: the newest `capacity` are kept, the older ones are counted.
 *
 * Any thread may add at any time, without a lock and without waiting. A reader copies a consistent stretch while
 * others add; an entry that is overwritten during the copy is left out, never torn. */
#ifndef GS_WATCH_RING_H
#define GS_WATCH_RING_H

#include <stddef.h>
#include <stdint.h>

#include "shim/watch/event.h"

/* capacity 0: no history; gs_ring_add then does nothing. Rounded up to a power of two. Called once, at start. */
int gs_ring_init(size_t capacity);

/* The same in slots of the caller's that are all zero (shim/watch/kept.h), as many as gs_ring_slots tells. */
struct gs_ring_slot;
size_t gs_ring_slots(size_t capacity);
void gs_ring_init_at(struct gs_ring_slot *slots, size_t count);

void gs_ring_add(const struct gs_event *event);

/* Events ever added, and the number of the oldest one that can still be read. */
uint64_t gs_ring_end(void);
uint64_t gs_ring_begin(void);

/* Copies event number `index` (counted from the start of the process). 0, or GS_E_NOT_FOUND if it is gone. */
int gs_ring_read(uint64_t index, struct gs_event *ret_event);

#endif
