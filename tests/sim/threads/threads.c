/* libsimthreads.so, preloaded by scripts/sim-run --threads baton: whatever a thread may wait in passes the baton of
 * tests/sim/cuda/sim_thread.h on. A wait becomes: try; if that fails, let others go on until somebody may have changed
 * that; try again. So the objects are the C library's own, except barriers, and what tries them works as ever.
 *
 * Without SIM_THREADS=baton, and for threads that take no part, every call goes through. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_thread.h"

#define NS_PER_S 1000000000ull
#define EXPORT __attribute__((visibility("default")))

/* The C library's own, found at the first use: wrappers are called before any constructor runs. */
#define REAL(name)                                                                                                     \
	({                                                                                                             \
		static __typeof__(&name) real_;                                                                        \
		if (!real_)                                                                                            \
			*(void **)&real_ = dlsym(RTLD_NEXT, #name);                                                    \
		real_;                                                                                                 \
	})

/* Of the time that is left until a deadline; at least one, since 0 means for ever. */
static uint64_t ns_until(const struct timespec *deadline)
{
	uint64_t at = (uint64_t)deadline->tv_sec * NS_PER_S + (uint64_t)deadline->tv_nsec, now = sim_thread_now_ns();

	return deadline->tv_sec < 0 || at <= now ? 1 : at - now;
}

/* --- Threads */

struct birth {
	struct sim_thread *thread;
	void *(*start)(void *);
	void *argument;
};

static pthread_key_t end_key;

/* After the other destructors of the thread's data: they may still call the driver. */
static void thread_end(void *round)
{
	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(end_key, (void *)((uintptr_t)round + 1));
	else
		sim_thread_end();
}

static void *thread_start(void *argument)
{
	struct birth birth = *(struct birth *)argument;

	free(argument);
	sim_thread_run(birth.thread);
	pthread_setspecific(end_key, (void *)1);
	return birth.start(birth.argument);
}

EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *),
			  void *argument)
{
	struct birth *birth;
	struct sim_thread *thread;
	int error;

	if (!sim_thread_plays())
		return REAL(pthread_create)(ret_thread, attributes, start, argument);
	birth = malloc(sizeof(*birth));
	if (!birth)
		return EAGAIN;
	thread = sim_thread_new();
	*birth = (struct birth){thread, start, argument};
	error = REAL(pthread_create)(ret_thread, attributes, thread_start, birth);
	if (error) {
		sim_thread_unmade(thread);
		free(birth);
	} else {
		sim_thread_made(thread, *ret_thread);
	}
	return error;
}

EXPORT int pthread_join(pthread_t thread, void **ret_value)
{
	if (sim_thread_plays())
		sim_thread_join(thread);
	return REAL(pthread_join)(thread, ret_value);
}

EXPORT int sched_yield(void)
{
	if (!sim_thread_plays())
		return REAL(sched_yield)();
	sim_thread_yield("sched_yield");
	return 0;
}

/* In baton mode ours: 0 new, 1 being done, 2 done, as the C library's last value. */
EXPORT int pthread_once(pthread_once_t *once, void (*function)(void))
{
	if (*once == 2)
		return 0;
	if (!sim_thread_plays())
		return REAL(pthread_once)(once, function);
	while (*once == 1)
		sim_thread_wait(once, 0, "pthread_once");
	if (*once == 0) {
		*once = 1;
		function();
		*once = 2;
		sim_thread_wake(once, ~0u, "pthread_once");
	}
	return 0;
}

/* --- Locks */

/* WAIT_FOR(wait, try, object, busy): the body of a wait for an object that can be tried. */
#define WAIT_FOR(name, attempt, object, busy)                                                                          \
	int error;                                                                                                     \
                                                                                                                       \
	if (!sim_thread_plays())                                                                                       \
		return REAL(name)(object);                                                                             \
	while ((error = REAL(attempt)(object)) == (busy))                                                              \
		sim_thread_wait((const void *)object, 0, #name);                                                       \
	return error

#define THEN_WAKE(name, object)                                                                                        \
	int error = REAL(name)(object);                                                                                \
                                                                                                                       \
	if (error == 0)                                                                                                \
		sim_thread_wake((const void *)object, ~0u, #name);                                                     \
	return error

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	WAIT_FOR(pthread_mutex_lock, pthread_mutex_trylock, mutex, EBUSY);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	THEN_WAKE(pthread_mutex_unlock, mutex);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline)
{
	int error;

	if (!sim_thread_plays())
		return REAL(pthread_mutex_timedlock)(mutex, deadline);
	while ((error = REAL(pthread_mutex_trylock)(mutex)) == EBUSY) {
		if (!sim_thread_wait(mutex, ns_until(deadline), "pthread_mutex_timedlock"))
			return ETIMEDOUT;
	}
	return error;
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *spin)
{
	WAIT_FOR(pthread_spin_lock, pthread_spin_trylock, spin, EBUSY);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *spin)
{
	THEN_WAKE(pthread_spin_unlock, spin);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	WAIT_FOR(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, lock, EBUSY);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	WAIT_FOR(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, lock, EBUSY);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	THEN_WAKE(pthread_rwlock_unlock, lock);
}

/* --- Conditions, semaphores, barriers */

static int cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t timeout_ns, const char *where)
{
	bool woken;
	int error = REAL(pthread_mutex_unlock)(mutex);

	if (error)
		return error;
	/* Nobody runs between the unlock and the wait: those that the unlock wakes become ready, no more. */
	sim_thread_ready(mutex, ~0u);
	woken = sim_thread_wait(condition, timeout_ns, where);
	error = pthread_mutex_lock(mutex);
	return error ? error : woken ? 0 : ETIMEDOUT;
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	if (!sim_thread_plays())
		return REAL(pthread_cond_wait)(condition, mutex);
	return cond_wait(condition, mutex, 0, "pthread_cond_wait");
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline)
{
	if (!sim_thread_plays())
		return REAL(pthread_cond_timedwait)(condition, mutex, deadline);
	return cond_wait(condition, mutex, ns_until(deadline), "pthread_cond_timedwait");
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *deadline)
{
	if (!sim_thread_plays())
		return REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
	return cond_wait(condition, mutex, ns_until(deadline), "pthread_cond_clockwait");
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
	int error = REAL(pthread_cond_signal)(condition);

	sim_thread_wake(condition, 1, "pthread_cond_signal");
	return error;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
	int error = REAL(pthread_cond_broadcast)(condition);

	sim_thread_wake(condition, ~0u, "pthread_cond_broadcast");
	return error;
}

static int sem_try(sem_t *semaphore)
{
	int saved = errno, result = REAL(sem_trywait)(semaphore), error = result ? errno : 0;

	errno = saved;
	return error;
}

static int sem_wait_for(sem_t *semaphore, const struct timespec *deadline, const char *where)
{
	int error;

	while ((error = sem_try(semaphore)) == EAGAIN) {
		if (!sim_thread_wait(semaphore, deadline ? ns_until(deadline) : 0, where)) {
			error = ETIMEDOUT;
			break;
		}
	}
	if (error)
		errno = error;
	return error ? -1 : 0;
}

EXPORT int sem_wait(sem_t *semaphore)
{
	return sim_thread_plays() ? sem_wait_for(semaphore, NULL, "sem_wait") : REAL(sem_wait)(semaphore);
}

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *deadline)
{
	return sim_thread_plays() ? sem_wait_for(semaphore, deadline, "sem_timedwait")
				  : REAL(sem_timedwait)(semaphore, deadline);
}

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline)
{
	return sim_thread_plays() ? sem_wait_for(semaphore, deadline, "sem_clockwait")
				  : REAL(sem_clockwait)(semaphore, clock, deadline);
}

EXPORT int sem_post(sem_t *semaphore)
{
	THEN_WAKE(sem_post, semaphore);
}

struct barrier {
	unsigned count, waiting, round;
};

_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "ours lives in the place of the C library's");

EXPORT int pthread_barrier_init(pthread_barrier_t *memory, const pthread_barrierattr_t *attributes, unsigned count)
{
	if (!sim_thread_plays())
		return REAL(pthread_barrier_init)(memory, attributes, count);
	*(struct barrier *)memory = (struct barrier){count, 0, 0};
	return count ? 0 : EINVAL;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *memory)
{
	return sim_thread_plays() ? 0 : REAL(pthread_barrier_destroy)(memory);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *memory)
{
	struct barrier *barrier = (struct barrier *)memory;
	unsigned round;

	if (!sim_thread_plays())
		return REAL(pthread_barrier_wait)(memory);
	round = barrier->round;
	if (++barrier->waiting < barrier->count) {
		while (round == barrier->round)
			sim_thread_wait(barrier, 0, "pthread_barrier_wait");
		return 0;
	}
	barrier->waiting = 0;
	barrier->round++;
	sim_thread_wake(barrier, ~0u, "pthread_barrier_wait");
	return PTHREAD_BARRIER_SERIAL_THREAD;
}

/* --- Time */

static void sleep_ns(uint64_t ns, const char *where)
{
	static const char nothing;

	sim_thread_wait(&nothing, ns ? ns : 1, where);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!sim_thread_plays())
		return REAL(nanosleep)(time, left);
	sleep_ns((uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec, "nanosleep");
	return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	if (!sim_thread_plays())
		return REAL(clock_nanosleep)(clock, flags, time, left);
	sleep_ns(flags & TIMER_ABSTIME ? ns_until(time) : (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec,
		 "clock_nanosleep");
	return 0;
}

EXPORT int usleep(useconds_t us)
{
	if (!sim_thread_plays())
		return REAL(usleep)(us);
	sleep_ns(us * 1000ull, "usleep");
	return 0;
}

EXPORT unsigned sleep(unsigned seconds)
{
	if (!sim_thread_plays())
		return REAL(sleep)(seconds);
	sleep_ns(seconds * NS_PER_S, "sleep");
	return 0;
}

EXPORT int pause(void)
{
	int result;

	if (!sim_thread_plays())
		return REAL(pause)();
	sim_thread_leave("pause");
	result = REAL(pause)();
	sim_thread_return();
	return result;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t now;

	if (!sim_thread_plays())
		return REAL(clock_gettime)(clock, ret_time);
	now = sim_thread_now_ns();
	*ret_time = (struct timespec){(time_t)(now / NS_PER_S), (long)(now % NS_PER_S)};
	return 0;
}

EXPORT int gettimeofday(struct timeval *ret_time, void *zone)
{
	uint64_t now;

	if (!sim_thread_plays())
		return REAL(gettimeofday)(ret_time, zone);
	now = sim_thread_now_ns();
	*ret_time = (struct timeval){(time_t)(now / NS_PER_S), (suseconds_t)(now % NS_PER_S / 1000)};
	return 0;
}

/* --- Waits for other processes: who need not wait keeps the baton. */

EXPORT int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
	int result = REAL(poll)(files, count, sim_thread_plays() ? 0 : timeout_ms);

	if (result != 0 || timeout_ms == 0 || !sim_thread_plays())
		return result;
	sim_thread_leave("poll");
	result = REAL(poll)(files, count, timeout_ms);
	sim_thread_return();
	return result;
}

EXPORT int accept4(int file, struct sockaddr *address, socklen_t *length, int flags)
{
	struct pollfd wanted = {.fd = file, .events = POLLIN};

	if (sim_thread_plays())
		poll(&wanted, 1, -1);
	return REAL(accept4)(file, address, length, flags);
}

EXPORT ssize_t read(int file, void *memory, size_t size_bytes)
{
	struct pollfd wanted = {.fd = file, .events = POLLIN};
	int saved = errno;
	bool waits = sim_thread_plays() && REAL(poll)(&wanted, 1, 0) == 0;
	ssize_t result;

	errno = saved;
	if (waits)
		sim_thread_leave("read");
	result = REAL(read)(file, memory, size_bytes);
	if (waits)
		sim_thread_return();
	return result;
}

/* --- System calls that a program makes itself, through the C library's syscall() */

static long futex_wait(const unsigned *word, unsigned value, const struct timespec *timeout, bool absolute)
{
	uint64_t timeout_ns = 0;

	if (*(const volatile unsigned *)word != value) {
		errno = EAGAIN;
		return -1;
	}
	if (timeout && absolute)
		timeout_ns = ns_until(timeout);
	else if (timeout)
		timeout_ns = (uint64_t)timeout->tv_sec * NS_PER_S + (uint64_t)timeout->tv_nsec + 1;
	if (sim_thread_wait(word, timeout_ns, "futex"))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

static long futex_call(const long *a)
{
	int op = (int)a[1] & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
	long woken;

	if (!(a[1] & FUTEX_PRIVATE_FLAG))
		op = -1; /* between processes */
	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET)
		return futex_wait((const unsigned *)a[0], (unsigned)a[2], (const struct timespec *)a[3],
				  op == FUTEX_WAIT_BITSET);
	woken = op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET
		    ? (long)sim_thread_wake((const void *)a[0], (unsigned)a[2], "futex")
		    : 0;
	return woken ? woken : REAL(syscall)(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (sim_thread_plays()) {
		switch (number) {
		case SYS_futex:
			return futex_call(a);
		case SYS_nanosleep:
			return nanosleep((const struct timespec *)a[0], NULL);
		case SYS_sched_yield:
			return sched_yield();
		case SYS_clock_gettime:
			return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
		}
	}
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Tells the simulated driver that we are here. */
EXPORT extern const char sim_threads_wrapped;
const char sim_threads_wrapped = 1;

__attribute__((constructor)) static void threads_init(void)
{
	pthread_key_create(&end_key, thread_end);
	sim_thread_begin();
	if (sim_thread_plays())
		pthread_setspecific(end_key, (void *)1);
}
