/* Sleeping until a 32-bit word is no longer what it was, without the C library's locks: for parts that must work in any
 * thread at any time. errno is left as it was. */
#ifndef GSB_FUTEX_H
#define GSB_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word is `value`; at most so long. May return early: the caller looks again. */
void gsb_futex_wait(const _Atomic uint32_t *word, uint32_t value, uint64_t at_most_ns);

/* Wakes up to so many threads that sleep on the word. */
void gsb_futex_wake(const _Atomic uint32_t *word, int count);

#endif
