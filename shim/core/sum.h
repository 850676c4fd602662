/* A sum that any thread may add to and one adds to often: its owner does so by a load and a store, the others by a locked
 * instruction, in a part of the sum that they share. Readers, at any time, see both together. */
#ifndef GS_CORE_SUM_H
#define GS_CORE_SUM_H

#include <stdatomic.h>
#include <stdint.h>

#include "shim/core/thread.h"

struct gs_sum {
	_Atomic uint64_t own, rest;
};

/* owner: serial of a thread (gs_thread_serial), always the same for a sum. */
static inline void gs_sum_add(struct gs_sum *sum, uint32_t owner, uint64_t more)
{
	if (__builtin_expect(owner == gs_thread.serial, 1))
		atomic_store_explicit(&sum->own, atomic_load_explicit(&sum->own, memory_order_relaxed) + more,
				      memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&sum->rest, more, memory_order_relaxed);
}

static inline uint64_t gs_sum_read(const struct gs_sum *sum)
{
	return atomic_load_explicit(&sum->own, memory_order_relaxed) +
	       atomic_load_explicit(&sum->rest, memory_order_relaxed);
}

#endif
