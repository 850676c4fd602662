/* The baton between threads: see sim_thread.h.
 *
 * Uses nothing that the wrappers wrap: the lock and the waiting are futexes, by system calls of our own. The lock is
 * for threads that take no part; those that do are kept apart by the baton. */
#include "tests/sim/cuda/sim_thread.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_log.h"

#define POINT_NS 1000
#define ALONE_MAX 1000 /* points in a row of one thread while others could go on and nothing is chosen */
#define JUMPS_MAX 1000 /* of the clock in a row for the same thread: it polls, and nobody else can go on */
#define CLOCK_START_NS 1000000000000000ull

enum state { READY, RUNNING, WAITING, OUTSIDE, ENDED };

struct sim_thread {
	unsigned number;
	enum state state;
	const void *on;	      /* WAITING */
	uint64_t deadline_ns; /* WAITING; 0 = none */
	bool timed_out;
	bool serves;
	const char *where; /* of its last point or wait */
	_Atomic unsigned go;
	pthread_t handle;	 /* 0 = not known */
	struct sim_thread *next; /* by number */
};

static bool on;
static _Atomic unsigned lock_word;
static struct sim_thread *threads, *last;
static struct sim_thread *holder; /* of the baton; NULL = every thread waits or is outside */
static uint64_t clock_ns = CLOCK_START_NS;
static unsigned long points;
static uint64_t random_state;
static unsigned switch_one_in;
static unsigned alone;			    /* points in a row at which the thread went on by default */
static const struct sim_thread *jumped_for; /* the last jump of the clock */
static unsigned jumps;			    /* for it, in a row */
static _Thread_local struct sim_thread *self;

/* --- What the rest stands on */

static long futex(_Atomic unsigned *word, int op, unsigned value)
{
	register long timeout __asm__("r10") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_futex), "D"(word), "S"((long)op), "d"((long)value), "r"(timeout)
			 : "rcx", "r11", "memory");
	return result;
}

static void lock(void)
{
	unsigned expected = 0;

	while (!atomic_compare_exchange_weak(&lock_word, &expected, 1)) {
		futex(&lock_word, FUTEX_WAIT_PRIVATE, 1);
		expected = 0;
	}
}

static void unlock(void)
{
	atomic_store(&lock_word, 0);
	futex(&lock_word, FUTEX_WAKE_PRIVATE, 1);
}

static uint64_t random_next(void)
{
	uint64_t z = random_state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

static struct sim_thread *thread_add(void)
{
	struct sim_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		abort();
	thread->number = last ? last->number + 1 : 1;
	thread->state = READY;
	thread->where = "its start";
	if (last)
		last->next = thread;
	else
		threads = thread;
	last = thread;
	return thread;
}

static void go_wait(struct sim_thread *thread)
{
	while (!atomic_exchange(&thread->go, 0))
		futex(&thread->go, FUTEX_WAIT_PRIVATE, 0);
}

/* --- Who goes on */

/* Threads whose time has come can go on. */
static void clock_settle(void)
{
	for (struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (thread->state != WAITING || !thread->deadline_ns || thread->deadline_ns > clock_ns)
			continue;
		thread->state = READY;
		thread->timed_out = true;
	}
}

static void deadlock(void)
{
	fprintf(stderr, "gpushim-sim: deadlock: no thread can go on (%s)\n", sim_log_how());
	for (const struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (thread->state == WAITING)
			fprintf(stderr, "gpushim-sim:   thread %u waits in %s for %p\n", thread->number, thread->where,
				thread->on);
	}
	_exit(SIM_DEADLOCK_STATUS);
}

static bool any_outside(void)
{
	const struct sim_thread *thread = threads;

	while (thread && thread->state != OUTSIDE)
		thread = thread->next;
	return thread != NULL;
}

/* Other processes have to do something, in real time. */
static void nap(void)
{
	struct timespec time = {0, 1000000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Nobody can go on: the clock moves on to the earliest deadline. False when there is none. */
static bool clock_jump(void)
{
	const struct sim_thread *first = NULL;

	for (const struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (thread->state == WAITING && thread->deadline_ns &&
		    (!first || thread->deadline_ns < first->deadline_ns))
			first = thread;
	}
	if (!first)
		return false;
	jumps = first == jumped_for ? jumps + 1 : 0;
	jumped_for = first;
	if (jumps > JUMPS_MAX && first->serves) {
		if (!any_outside())
			deadlock();
		nap();
	}
	clock_ns = first->deadline_ns;
	clock_settle();
	return true;
}

/* The thread after this one that can go on, itself at last; NULL = none can. */
static struct sim_thread *ready_after(const struct sim_thread *thread)
{
	struct sim_thread *at = thread->next ? thread->next : threads;

	while (at != thread && at->state != READY)
		at = at->next ? at->next : threads;
	return at->state == READY ? at : NULL;
}

static struct sim_thread *ready_number(unsigned number)
{
	struct sim_thread *thread = threads;

	while (thread && (thread->number != number || thread->state != READY))
		thread = thread->next;
	return thread;
}

static struct sim_thread *ready_random(void)
{
	struct sim_thread *picked = NULL;
	uint64_t seen = 0;

	for (struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (thread->state == READY && random_next() % ++seen == 0)
			picked = thread;
	}
	return picked;
}

/* Passes the baton on. The thread that has it, `from`, is READY if it could keep it. `stay`: and keeps it unless
 * another one is chosen. True when it is the calling one and has kept it; otherwise that must wait for it to go. */
static bool pass_on(struct sim_thread *from, bool stay, const char *where)
{
	struct sim_thread *fallback, *next;

	points++;
	clock_ns += POINT_NS;
	clock_settle();
	while (!(fallback = ready_after(from))) {
		if (clock_jump())
			continue;
		if (!any_outside())
			deadlock();
		holder = NULL;
		return false;
	}
	if (stay && from->state == READY && alone++ < ALONE_MAX)
		fallback = from;
	next = fallback;
	if (sim_log_replays())
		next = ready_number(sim_log_next_thread(points));
	else if (!stay || random_next() % switch_one_in == 0)
		next = ready_random();
	if (!next)
		next = fallback;
	if (next != fallback)
		sim_log_thread(points, next->number, from->number, where);
	if (next != from)
		alone = 0;
	holder = next;
	next->state = RUNNING;
	if (next == self)
		return true;
	atomic_store(&next->go, 1);
	futex(&next->go, FUTEX_WAKE_PRIVATE, 1);
	return false;
}

/* The calling thread, in that state, passes the baton on and goes on when it has it again. */
static void change(enum state state, bool stay, const char *where)
{
	bool kept;

	self->state = state;
	self->where = where;
	kept = pass_on(self, stay, where);
	unlock();
	if (!kept)
		go_wait(self);
}

bool sim_thread_plays(void)
{
	bool first;

	if (!on)
		return false;
	if (self)
		return self->state != ENDED;
	lock();
	self = thread_add();
	first = !holder;
	if (first) {
		holder = self;
		self->state = RUNNING;
	}
	unlock();
	if (!first)
		go_wait(self);
	return true;
}

unsigned sim_thread_number(void)
{
	return on && self ? self->number : 0;
}

void sim_thread_point(const char *where)
{
	if (!sim_thread_plays())
		return;
	lock();
	change(READY, true, where);
}

void sim_thread_yield(const char *where)
{
	if (!sim_thread_plays())
		return;
	lock();
	change(READY, false, where);
}

bool sim_thread_wait(const void *what, uint64_t timeout_ns, const char *where)
{
	lock();
	self->on = what;
	self->deadline_ns = timeout_ns ? clock_ns + timeout_ns : 0;
	self->timed_out = false;
	change(WAITING, false, where);
	return !self->timed_out;
}

/* With the lock held. */
static unsigned waiters_ready(const void *what, unsigned count)
{
	unsigned woken = 0;

	for (struct sim_thread *thread = threads; thread && woken < count; thread = thread->next) {
		if (thread->state != WAITING || thread->on != what)
			continue;
		thread->state = READY;
		jumped_for = NULL;
		woken++;
	}
	return woken;
}

unsigned sim_thread_ready(const void *what, unsigned count)
{
	unsigned woken;

	lock();
	woken = waiters_ready(what, count);
	unlock();
	return woken;
}

unsigned sim_thread_wake(const void *what, unsigned count, const char *where)
{
	unsigned woken;

	if (!on)
		return 0;
	lock();
	woken = waiters_ready(what, count);
	if (woken && self && holder == self) {
		change(READY, false, where);
		return woken;
	}
	if (woken && !holder)
		pass_on(threads, false, where);
	unlock();
	return woken;
}

void sim_thread_leave(const char *where)
{
	lock();
	self->state = OUTSIDE;
	self->where = where;
	pass_on(self, false, where);
	unlock();
}

void sim_thread_return(void)
{
	bool kept;

	lock();
	self->state = READY;
	kept = !holder && pass_on(self, true, self->where);
	unlock();
	if (!kept)
		go_wait(self);
}

/* --- Their lives */

struct sim_thread *sim_thread_new(void)
{
	struct sim_thread *thread;

	lock();
	thread = thread_add();
	unlock();
	return thread;
}

void sim_thread_made(struct sim_thread *thread, pthread_t handle)
{
	thread->handle = handle;
}

void sim_thread_unmade(struct sim_thread *thread)
{
	thread->state = ENDED;
}

void sim_thread_run(struct sim_thread *thread)
{
	self = thread;
	go_wait(thread);
}

void sim_thread_end(void)
{
	if (!on || !self || self->state == ENDED)
		return;
	lock();
	self->state = ENDED;
	for (struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (thread->state == WAITING && thread->on == self)
			thread->state = READY;
	}
	pass_on(self, false, "its end");
	unlock();
}

/* The newest of that handle: the C library uses handles again. */
void sim_thread_join(pthread_t handle)
{
	struct sim_thread *found = NULL;

	for (struct sim_thread *thread = threads; thread; thread = thread->next) {
		if (pthread_equal(thread->handle, handle))
			found = thread;
	}
	while (found && found->state != ENDED)
		sim_thread_wait(found, 0, "pthread_join");
}

void sim_thread_serve(void)
{
	if (sim_thread_plays())
		self->serves = true;
}

uint64_t sim_thread_now_ns(void)
{
	return clock_ns += POINT_NS;
}

static void thread_child(void)
{
	atomic_store(&lock_word, 0);
	if (!self)
		on = false;
	threads = last = holder = self;
	if (self)
		self->next = NULL;
}

void sim_thread_begin(void)
{
	const struct sim_conf *conf = sim_conf();

	if (!conf->baton || on)
		return;
	random_state = conf->seed * 0xA24BAED4963EE407ull + 1;
	switch_one_in = 1u << random_next() % 3 * 2;
	pthread_atfork(NULL, NULL, thread_child);
	self = holder = thread_add();
	self->state = RUNNING;
	self->handle = pthread_self();
	on = true;
}
