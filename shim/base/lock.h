/* A mutex with a rank. See lock_rank.h for what each lock protects and in which order they may be taken.
 *
 * Static initialisation only through GSB_LOCK_INIT or gsb_lock_init; no destruction is needed. The lock is a futex
 * word, not a pthread mutex: it must work before the C library's start-up has finished, must not be seen by tools
 * that intercept pthread_mutex_lock, and the child of a fork must be able to reset it (gsb_lock_reset). */
#ifndef GSB_LOCK_H
#define GSB_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "shim/base/fence.h"
#include "shim/base/lock_rank.h"

struct gsb_lock {
	_Atomic unsigned state;    /* 0 free, 1 held */
	_Atomic unsigned sleepers; /* threads that the kernel is to wake */
	_Atomic unsigned waking;   /* one of them was woken and has not run yet */
	enum gsb_lock_rank rank; /* fixed at init */
};

#define GSB_LOCK_INIT(rank_name)                                                                                       \
	{                                                                                                              \
		.state = 0, .sleepers = 0, .waking = 0, .rank = GSB_RANK_##rank_name                                                               \
	}

void gsb_lock_init(struct gsb_lock *lock, enum gsb_lock_rank rank);

/* Parts of the three below, and in debug builds what watches the order. */
void gsb_lock_wait(struct gsb_lock *lock);
void gsb_lock_wake(struct gsb_lock *lock);
#ifdef GSB_DEBUG
void gsb_lock_note(const struct gsb_lock *lock, bool acquired);
#else
static inline void gsb_lock_note(const struct gsb_lock *lock, bool acquired)
{
	(void)lock;
	(void)acquired;
}
#endif

static inline bool gsb_lock_try(struct gsb_lock *lock)
{
	if (__builtin_expect(atomic_exchange_explicit(&lock->state, 1, memory_order_acquire) != 0, 0))
		return false;
	gsb_lock_note(lock, true);
	return true;
}

static inline void gsb_lock_acquire(struct gsb_lock *lock)
{
	if (!gsb_lock_try(lock))
		gsb_lock_wait(lock);
}

static inline __attribute__((always_inline)) void gsb_lock_release(struct gsb_lock *lock)
{
	gsb_lock_note(lock, false);
	atomic_store_explicit(&lock->state, 0, memory_order_release);
	gsb_fence_light();
	if (__builtin_expect(atomic_load_explicit(&lock->sleepers, memory_order_relaxed) != 0, 0))
		gsb_lock_wake(lock);
}

/* Makes the lock free whoever held it. Only in the child of a fork, whose other threads are gone. */
void gsb_lock_reset(struct gsb_lock *lock);

/* True when the calling thread holds a lock of this rank. Always true without GSB_DEBUG: for assertions. */
bool gsb_lock_held(const struct gsb_lock *lock);

/* True when the calling thread holds no lock at all. Always true without GSB_DEBUG. */
bool gsb_lock_none(void);

#endif
