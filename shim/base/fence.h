/* A fence between two threads that each write one word and then read the other's, of which at least one must see what the other
 * wrote: one of them often, the other one seldom. The latter asks the kernel for a barrier in all threads (membarrier), so
 * that the former needs nothing but the compiler's attention. Where the kernel refuses, both take a full fence. It may come to
 * refuse (the program sets a filter of system calls): the two may miss each other the one time that this is found out, so
 * who sleeps looks again after a while. */
#ifndef GSB_FENCE_H
#define GSB_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "shim/base/hot.h"

extern GSB_OURS _Atomic bool gsb_fence_lopsided; /* the barrier is that of the one who writes seldom */

/* Once, at start, with few threads. */
void gsb_fence_start(void);

/* Between writing and reading: of the thread that does so often, and of the other one. errno is left as it was. */
static inline __attribute__((always_inline)) void gsb_fence_light(void)
{
	if (__builtin_expect(atomic_load_explicit(&gsb_fence_lopsided, memory_order_relaxed), 1))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
}

void gsb_fence_heavy(void);

#endif
