/* Idle memory that nobody wants goes back to the driver (purge_ms, H29). There is no thread of ours for it: calls of the
 * program that end at or after purge_due_ticks look what there is. */
#ifndef GS_CORE_PURGE_H
#define GS_CORE_PURGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/hot.h"

extern GSB_OURS _Atomic uint64_t gs_purge_due_ticks;

/* ticks: of the end of a call; 0 when it was not timed, which is never due. */
static inline bool gs_purge_is_due(uint64_t ticks)
{
	return ticks > atomic_load_explicit(&gs_purge_due_ticks, memory_order_relaxed);
}

/* Looks, and gives back. From gs_call_end, with the thread inside and no lock held; not while a capture is open. */
void gs_purge_look(uint64_t ticks);

#endif
