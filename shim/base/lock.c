/* Ranked futex mutex. Who releases writes that the lock is free, then looks for sleepers; who is about to sleep counts
 * himself, then looks whether the lock is free. One of them must see the other: a fence between the two steps (fence.h),
 * with which a release costs two plain instructions. */
#include "shim/base/lock.h"

#include <errno.h>

#include "shim/base/assert.h"
#include "shim/base/fence.h"
#include "shim/base/futex.h"

/* How often a lock that somebody holds is looked at before the thread goes to sleep: some ten microseconds. Most are held
 * for less than a tenth of one; to sleep and be woken takes several. The looks grow rare: where many wait, who has the lock
 * and what it guards in its cache takes it several times before somebody else does. */
#define LOOKS 24u
#define PAUSES_MAX 64u

/* Where many want a lock that is never held for long, a few sleep by the clock, which costs nobody else anything, before
 * the kernel is asked for a barrier in all threads and who releases has to wake them. */
#define NAPS 4u
#define NAP_NS 20000u

#ifdef GSB_DEBUG
/* Number of locks of each rank that this thread holds. */
static _Thread_local unsigned char held_count[GSB_RANK_COUNT] __attribute__((tls_model("initial-exec")));

void gsb_lock_note(const struct gsb_lock *lock, bool acquired)
{
	if (!acquired) {
		gsb_assert(held_count[lock->rank] == 1);
		held_count[lock->rank]--;
		return;
	}
	for (unsigned rank = lock->rank; rank < GSB_RANK_COUNT; rank++)
		gsb_assert(held_count[rank] == 0);
	held_count[lock->rank]++;
}

bool gsb_lock_held(const struct gsb_lock *lock)
{
	return held_count[lock->rank] > 0;
}

bool gsb_lock_none(void)
{
	for (unsigned rank = 0; rank < GSB_RANK_COUNT; rank++)
		if (held_count[rank] > 0)
			return false;
	return true;
}
#else
bool gsb_lock_held(const struct gsb_lock *lock)
{
	(void)lock;
	return true;
}

bool gsb_lock_none(void)
{
	return true;
}
#endif

/* At most, for a wake-up can go astray: one that somebody else is believed to be on the way to take. */
#define SLEEP_NS 2000000u

void gsb_lock_init(struct gsb_lock *lock, enum gsb_lock_rank rank)
{
	atomic_init(&lock->state, 0);
	atomic_init(&lock->sleepers, 0);
	atomic_init(&lock->waking, 0);
	lock->rank = rank;
}

/* Looks less and less often: whoever holds the lock works on what lies beside it. */
static bool take_soon(struct gsb_lock *lock)
{
	unsigned pauses = 1;

	for (unsigned look = 0; look < LOOKS; look++) {
		for (unsigned pause = 0; pause < pauses; pause++)
			__builtin_ia32_pause();
		if (pauses < PAUSES_MAX)
			pauses *= 2;
		if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 && gsb_lock_try(lock))
			return true;
	}
	return false;
}

static bool take_after_naps(struct gsb_lock *lock)
{
	static const _Atomic uint32_t nobody_wakes;

	for (unsigned nap = 0; nap < NAPS; nap++) {
		gsb_futex_wait(&nobody_wakes, 0, NAP_NS);
		if (take_soon(lock))
			return true;
	}
	return false;
}

void gsb_lock_wait(struct gsb_lock *lock)
{
	int saved_errno = errno;

	if (take_soon(lock) || take_after_naps(lock))
		return;
	atomic_fetch_add(&lock->sleepers, 1);
	gsb_fence_heavy();
	while (!gsb_lock_try(lock)) {
		gsb_futex_wait(&lock->state, 1, SLEEP_NS);
		atomic_store_explicit(&lock->waking, 0, memory_order_relaxed);
	}
	atomic_fetch_sub(&lock->sleepers, 1);
	errno = saved_errno;
}

/* One sleeper at a time: until it has run, who else takes and releases the lock need not ask the kernel again. */
void gsb_lock_wake(struct gsb_lock *lock)
{
	if (atomic_exchange_explicit(&lock->waking, 1, memory_order_relaxed) == 0)
		gsb_futex_wake(&lock->state, 1);
}

void gsb_lock_reset(struct gsb_lock *lock)
{
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->sleepers, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->waking, 0, memory_order_relaxed);
}
