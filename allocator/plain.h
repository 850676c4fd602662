/* Plain segments: single driver allocations. Cached whole where virtual memory is refused, or asked for one by one.
 * Nothing here is called with a lock held unless it says so; the driver is never called with one. */
#ifndef GSA_PLAIN_H
#define GSA_PLAIN_H

#include "allocator/types.h"

/* Asks the driver for memory and serves the request with it: exactly what was asked for if it wants a driver allocation
 * of its own, cached when freed otherwise. GS_E_NO_MEMORY: device or limit are full. */
int gsa_plain_grow(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* See plain_enter in ops.h. */
static inline int gsa_plain_enter(const struct gsa_ops *ops)
{
	return ops->plain_enter != NULL ? ops->plain_enter() : 0;
}

static inline void gsa_plain_leave(const struct gsa_ops *ops, int entered)
{
	if (ops->plain_leave != NULL)
		ops->plain_leave(entered);
}

/* Takes the segment and its detached block out of the books. ALLOCATOR lock held. */
void gsa_plain_forget(struct gsa *allocator, struct gsa_block *block);

/* Gives idle ones back, the largest first, until at most keep_bytes are idle. The driver waits for the device then, so nothing
 * is given back while that has work, or it is waited for, before anything is on its way. Returns the bytes given back. */
uint64_t gsa_plain_trim(struct gsa *allocator, uint64_t keep_bytes, bool wait);

/* Gives everything back, whatever lies there. */
void gsa_plain_fini(struct gsa *allocator);

#endif
