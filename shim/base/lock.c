/* Ranked futex mutex; the three-state algorithm of Drepper's "Futexes are tricky", second mutex. */
#include "shim/base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/assert.h"

#ifdef GSB_DEBUG
/* Number of locks of each rank that this thread holds. */
static _Thread_local unsigned char held_count[GSB_RANK_COUNT] __attribute__((tls_model("initial-exec")));

static void note_acquired(const struct gsb_lock *lock)
{
	for (unsigned rank = lock->rank; rank < GSB_RANK_COUNT; rank++)
		gsb_assert(held_count[rank] == 0);
	held_count[lock->rank]++;
}

static void note_released(const struct gsb_lock *lock)
{
	gsb_assert(held_count[lock->rank] == 1);
	held_count[lock->rank]--;
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
static void note_acquired(const struct gsb_lock *lock)
{
	(void)lock;
}

static void note_released(const struct gsb_lock *lock)
{
	(void)lock;
}

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

static void futex(_Atomic unsigned *word, int op, unsigned value)
{
	int saved_errno = errno;

	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved_errno;
}

void gsb_lock_init(struct gsb_lock *lock, enum gsb_lock_rank rank)
{
	atomic_init(&lock->state, 0);
	lock->rank = rank;
}

void gsb_lock_acquire(struct gsb_lock *lock)
{
	unsigned expected = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
						     memory_order_relaxed)) {
		if (expected != 2)
			expected = atomic_exchange_explicit(&lock->state, 2, memory_order_acquire);
		while (expected != 0) {
			futex(&lock->state, FUTEX_WAIT, 2);
			expected = atomic_exchange_explicit(&lock->state, 2, memory_order_acquire);
		}
	}
	note_acquired(lock);
}

bool gsb_lock_try(struct gsb_lock *lock)
{
	unsigned expected = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	note_acquired(lock);
	return true;
}

void gsb_lock_release(struct gsb_lock *lock)
{
	note_released(lock);
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		futex(&lock->state, FUTEX_WAKE, 1);
}

void gsb_lock_reset(struct gsb_lock *lock)
{
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}
