/* Calls and host time per intercepted function.
 *
 * Each thread writes its own block, so counting costs a load, an add and a store; a reader sums all blocks. The blocks
 * of ended threads stay in the sum and are handed to new threads. Times are in ticks of the processor's time-stamp
 * counter and are turned into nanoseconds when read. */
#ifndef GS_CORE_COUNTER_H
#define GS_CORE_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/fn.h"
#include "shim/core/clock.h"
#include "shim/core/figure.h"
#include "shim/core/thread.h"
#include "shim/watch/ring.h"

struct gs_launch_log;
struct gs_known_table;
struct gs_stack_thread;

struct gs_counter_block {
	struct {
		_Atomic uint64_t calls;
		_Atomic uint64_t ticks;
	} fn[GS_FN_COUNT];
	_Atomic uint64_t figures[GS_FIGURE_COUNT];
	_Atomic uint64_t work_begun; /* calls that may submit work; of these, returned */
	_Atomic uint64_t work_ended;
	_Atomic uint32_t owner;        /* thread id; 0 = free for a new thread */
	_Atomic(struct gs_launch_log *) launches; /* of its owner (shim/watch/launch.h); NULL until the first one */
	_Atomic(struct gs_stack_thread *) stacks; /* of its owner (shim/stack/stack.c); NULL until the first capture */
	struct gs_known_table *known;  /* of its owner (shim/submit/known.h); NULL until the first one */
	struct gs_route *routes;       /* of its owner (shim/wrap/quick.c); NULL until some owner learns one */
	void *waited;                  /* shim/watch/wait.c: where its owner waited last by name */
	struct gs_ring_run run;        /* of its owner */
	struct gs_counter_block *next; /* in the list of all blocks */
};

/* The block of the calling thread: its own, or a shared last resort when the system has no pages. */
struct gs_counter_block *gs_counter_block_take(void);

/* All blocks, of threads that have ended too. */
const struct gs_counter_block *gs_counter_blocks(void);

/* Called once, at start. */
void gs_counter_init(void);

static inline struct gs_counter_block *gs_counter_block_own(void)
{
	struct gs_counter_block *block = gs_thread.counters;

	return __builtin_expect(block == NULL, 0) ? gs_counter_block_take() : block;
}

/* Around a call that may submit work: what it submits is counted as begun by then, and as ended not before it is
 * submitted. */
static inline void gs_counter_work_begin(void)
{
	struct gs_counter_block *block = gs_counter_block_own();

	atomic_store_explicit(&block->work_begun,
			      atomic_load_explicit(&block->work_begun, memory_order_relaxed) + 1, memory_order_release);
}

static inline void gs_counter_work_end(void)
{
	struct gs_counter_block *block = gs_counter_block_own();

	atomic_store_explicit(&block->work_ended,
			      atomic_load_explicit(&block->work_ended, memory_order_relaxed) + 1, memory_order_release);
}

/* By the only one who writes it: one instruction, which is not locked. */
static inline void gs_counter_own_add(_Atomic uint64_t *sum, uint64_t more)
{
	__asm__("addq %1, %0" : "+m"(*sum) : "er"(more) : "cc");
}

/* block: gs_counter_block_own. */
static inline void gs_counter_block_add(struct gs_counter_block *block, enum gs_fn fn, uint64_t ticks)
{
	gs_counter_own_add(&block->fn[fn].calls, 1);
	if (ticks != 0)
		gs_counter_own_add(&block->fn[fn].ticks, ticks);
}

static inline void gs_counter_add(enum gs_fn fn, uint64_t ticks)
{
	gs_counter_block_add(gs_counter_block_own(), fn, ticks);
}

static inline void gs_figure_add(enum gs_figure figure, uint64_t more)
{
	gs_counter_own_add(&gs_counter_block_own()->figures[figure], more);
}

/* Reading, by any thread at any time. Index: enum gs_fn. */
struct gs_counter {
	const char *name;       /* exported symbol */
	const char *layer;      /* "driver" or "runtime" */
	const char *call_class; /* key of the class */
	uint64_t calls;
	uint64_t host_ns;       /* 0 when not timed */
};

size_t gs_counter_count(void);
void gs_counter_read(size_t index, struct gs_counter *ret_counter);

/* How many calls that may submit work to a device were begun, or have ended, in all threads. While no more were begun than
 * had ended at an earlier moment, nothing was submitted since. False: it is not known, or too many threads have made calls
 * to add them up quickly. */
bool gs_counter_work(bool ended, uint64_t *ret_count);

/* The same for any number of threads, with calls of functions that are in no row: how much work there is, about. */
uint64_t gs_counter_pieces(bool ended);

/* Calls of driver functions that are in no row, through their trampolines. */
extern _Atomic uint64_t gs_counter_unlisted;

#endif
