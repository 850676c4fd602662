/* The life of the shim in a process, and the one word that every entry reads.
 *
 *   dormant --first CUDA call--> active --exit--> ended --fork, in the child--> off
 *                                  +-----------------fork, in the child--------^
 *
 * Dormant: nothing was resolved, read or printed; so it stays where there is no driver. Active: everything works.
 * Ended: the exit handlers have run; every entry passes straight through, but memory that we serve can still be freed,
 * as destructors of libraries do. Off: every entry passes straight through; there is no way back. A forked child is dormant again if the parent had made no CUDA call, and off otherwise (H33). */
#ifndef GS_CORE_MODE_H
#define GS_CORE_MODE_H

#include <stdatomic.h>

#include "shim/base/hot.h"

enum gs_mode { GS_MODE_DORMANT, GS_MODE_ACTIVE, GS_MODE_ENDED, GS_MODE_OFF };

extern GSB_OURS _Atomic int gs_mode_now;

static inline enum gs_mode gs_mode(void)
{
	return (enum gs_mode)atomic_load_explicit(&gs_mode_now, memory_order_acquire);
}

#endif
