/* SIM_THREADS=baton: of the threads of the program one at a time runs, so that one seed is one run.
 *
 * The thread that runs holds the baton. It may pass it on at a driver call (a point), and must when it waits: for a
 * mutex, a condition, a semaphore, a futex, another thread, or a time. Who goes on is a choice of the seed, and in the
 * log. Waits are found by tests/sim/threads, a library that is preloaded and wraps what the C library offers for them;
 * it calls what is declared here. Time is simulated: a microsecond for each point and each look at a clock, and when
 * all threads wait, as much as the earliest of them still has to wait. So nothing sleeps.
 *
 * When all threads wait and none for a time, that is a deadlock: a line on stderr for each, and SIM_DEADLOCK_STATUS.
 * A thread that the wrappers have not seen begin joins in at its first call. A read, a poll and an accept4 give it away
 * if they have to wait; what else blocks (a wait for a child) keeps it; a loop that watches a variable without any call
 * never ends. */
#ifndef SIM_THREAD_H
#define SIM_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_DEADLOCK_STATUS 87

struct sim_thread;

#pragma GCC visibility push(default)

/* From now on the baton counts; the calling thread has it. Called by the preloaded library, before main. */
void sim_thread_begin(void);

/* True when that holds and the calling thread takes part. */
bool sim_thread_plays(void);

/* 1 for the first thread; 0 when the calling thread takes no part. */
unsigned sim_thread_number(void);

/* A driver call: perhaps another thread goes on. */
void sim_thread_point(const char *where);

/* Another thread goes on if one can. */
void sim_thread_yield(const char *where);

/* Waits until somebody wakes `on`; at most so long, unless 0. False when that time has passed. */
bool sim_thread_wait(const void *on, uint64_t timeout_ns, const char *where);

/* Up to `count` threads that wait for `on` can go on; then perhaps one does at once. Any thread may call. */
unsigned sim_thread_wake(const void *on, unsigned count, const char *where);

/* The same, but the calling thread goes on. */
unsigned sim_thread_ready(const void *on, unsigned count);

/* Around a wait that another process ends: others go on meanwhile. */
void sim_thread_leave(const char *where);
void sim_thread_return(void);

/* The life of a thread: announced by its maker, begun and ended by itself, waited for by another. */
struct sim_thread *sim_thread_new(void);
void sim_thread_made(struct sim_thread *thread, pthread_t handle);
void sim_thread_unmade(struct sim_thread *thread);
void sim_thread_run(struct sim_thread *thread);
void sim_thread_end(void);
void sim_thread_join(pthread_t handle);

/* All clocks. */
uint64_t sim_thread_now_ns(void);

#pragma GCC visibility pop

/* The calling thread only serves the others: its waits for a time keep nobody alive. */
void sim_thread_serve(void);

#endif
