/* One word that tells whether what was found out for an answer at the door (shim/wrap/quick.c) still holds.
 *
 * An epoch ends whenever something changes that such an answer depends on: the mode of the shim, a context or a stream
 * that goes, a capture that begins or ends, an error that sticks, the pool that allocations come from, a library that is
 * unloaded, somebody who wants to see all calls. The change comes first, then the end: who still finds the old epoch
 * may act on what held until just now, as if it had come a moment earlier. */
#ifndef GS_CORE_EPOCH_H
#define GS_CORE_EPOCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "shim/base/hot.h"

extern GSB_OURS _Atomic uint64_t gs_epoch_now; /* from 1 on: 0 is never current */

static inline uint64_t gs_epoch(void)
{
	return atomic_load_explicit(&gs_epoch_now, memory_order_acquire);
}

static inline void gs_epoch_end(void)
{
	atomic_fetch_add(&gs_epoch_now, 1);
}

#endif
