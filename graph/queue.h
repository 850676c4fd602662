/* The submission queue: packed records of work, and the one thread that runs them in the order in which they were put.
 *
 * Invariants: records run in the order of gsg_queue_put_end, each exactly once; when gsg_queue_flush returns, all
 * records that were put before it was called have run. Whoever submits by another way flushes first, so that the order of
 * the program is kept. One queue serves the whole process, whatever contexts and threads take part (H15).
 *
 * The thread spins for work for a while, then it parks. It is given work only where that pays (gsg_queue_wants): where
 * records follow each other closely and without flushes between them, and where the program has something else to do meanwhile: waking
 * a parked thread costs more than a launch, a flush that finds one record has to wait for another processor, and who waits for the thread
 * for as long as it would have taken to do the work has gained nothing.
 *
 * `run` may hold records back, to do several at once (graph/replay.h). They stay in the ring meanwhile, and `settle` runs them as
 * soon as somebody waits for them, or when no record has followed for hold_ns.
 *
 * Knows nothing of CUDA: what a record means is the business of `run`. */
#ifndef GSG_QUEUE_H
#define GSG_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/lock.h"

#define GSG_RECORD_ALIGN 16u
#define GSG_RECORD_LIMIT 65536u /* bytes of the largest record */

/* The start of every record; what follows belongs to its maker. */
struct gsg_record {
	uint32_t size_bytes; /* of the whole record */
	uint16_t kind;	     /* for `run`; 0 is the queue's own */
	uint16_t first;	     /* whoever put it has waited for the queue since the last one */
	uint64_t put_ticks;  /* when it was put: the processor's time-stamp counter */
};

#define GSG_NONE_HELD UINT64_MAX

enum gsg_settle_reason { GSG_SETTLE_WANTED, GSG_SETTLE_LATE };

/* Both are called by the queue's thread only. Run takes the next record, and returns the position of the oldest one, this one
 * or from before, that it has not run yet. After settle none is left. */
typedef uint64_t gsg_run_fn(void *user, const struct gsg_record *record, uint64_t position);
typedef void gsg_settle_fn(void *user, enum gsg_settle_reason reason);

struct gsg_queue_options {
	size_t ring_bytes;   /* a power of two, at least four of the largest records */
	uint64_t spin_ns;    /* how long the thread looks for work before it parks */
	uint64_t pause_ticks; /* after so long without work a run of it begins anew; 0 = it does not */
	uint64_t late_ticks; /* a record at the head that is left lying for longer is late; 0 = never */
	gsg_settle_fn *settle; /* NULL: run holds nothing back */
	uint64_t hold_ns;      /* how long for, at most, when no record follows */
	uint32_t patience;     /* runs in a row that gain nothing, until some are done directly; 0 = it never ends */
	uint32_t patience_work; /* or so many pieces of work in them */
	bool eager;	     /* work is put whether that pays or not: for tests of those who use the queue */
};

/* What the queue did, for reports. */
struct gsg_queue_stats {
	_Atomic uint64_t records;
	_Atomic uint64_t flushes; /* that had to wait */
	_Atomic uint64_t flush_wait_ns;
	_Atomic uint64_t full; /* a record waited for room */
	_Atomic uint64_t wakes;
	_Atomic uint64_t rests; /* flushes found too little queued, or nothing gained; for a while nothing was put */
	_Atomic uint64_t late;
};

struct gsg_queue {
	gsg_run_fn *run;
	void *user;
	unsigned char *ring;
	struct gsg_queue_options options;
	struct gsb_lock lock; /* of those who put */
	uint64_t put_bytes;   /* of the record between begin and end; under the lock, as is the next */
	uint64_t head_seen;   /* the head was there at least: the thread writes it all the time, so it is read seldom */
	bool closed;	      /* likewise */
	struct gsg_queue_stats stats;

	/* Of those who put. */
	_Alignas(64) _Atomic uint64_t run_ticks; /* when a piece of work was last done directly */
	_Atomic uint32_t run_length;	      /* pieces of work since the last flush, or the last pause while resting */
	_Atomic uint32_t wake_at;	      /* run_length from which work is put again */
	_Atomic uint32_t short_runs;	      /* flushes in a row that found too little */
	_Atomic uint64_t run_wait_ns;	      /* that this run waited for the thread */
	_Atomic uint32_t vain_runs;	      /* in a row, that gained nothing, */
	_Atomic uint32_t vain_work;	      /* and the pieces of work in them */
	_Atomic uint32_t pass_runs;	      /* so many more are done directly; */
	_Atomic uint32_t pass_next;	      /* and the next time */
	_Atomic uint32_t pass_starved;	      /* likewise, when the thread was starved the last time */
	_Atomic bool resting;		      /* nothing is put for the time being */

	_Alignas(64) _Atomic uint64_t tail; /* bytes ever put */

	_Alignas(64) _Atomic uint64_t head; /* bytes ever run */
	_Atomic uint64_t wanted;	    /* somebody waits for head to come so far */
	_Atomic uint64_t wake_head;	    /* those who wait for head, and sleep on `ran`, are woken when it comes so far */
	_Atomic uint32_t ran;
	_Atomic uint64_t alone_ns; /* what a record takes that is run alone, the mean; 0 = not known */

	_Atomic uint32_t pauses; /* threads that are about to put more */

	/* Read for each record, written seldom. */
	_Alignas(64) _Atomic uint32_t parked; /* the thread sleeps on it, or is about to */
	_Atomic bool starved;		      /* the thread did not get the processor when it needed it (H19) */
};

/* Starts the thread, which blocks all signals. Not thread-safe. GS_OK, or GS_E_NO_HOST_MEMORY when there are no pages or
 * no thread; then the queue must not be used. */
int gsg_queue_start(struct gsg_queue *queue, gsg_run_fn *run, void *user, const struct gsg_queue_options *options);

/* From now on nothing can be put; flushes. The thread stays, parked. */
void gsg_queue_close(struct gsg_queue *queue);

/* In the child of a fork, which has no thread: forgets what was put. */
void gsg_queue_forget(struct gsg_queue *queue);

/* Whether the next piece of work should be put; false: the caller flushes (which is cheap then) and does it itself. */
bool gsg_queue_wants(struct gsg_queue *queue, uint64_t now_ticks);

/* Before that, and cheaper: the thread rests, all that was put has run, and the next piece of work changes nothing of that. True: it
 * is noted, and the caller does the work himself. */
bool gsg_queue_rests(struct gsg_queue *queue, uint64_t now_ticks);

/* Room for a record of so many bytes, all of them the caller's to fill but the header; waits while the ring is full. Nobody
 * else puts until gsg_queue_put_end. NULL: the queue is closed. */
struct gsg_record *gsg_queue_put_begin(struct gsg_queue *queue, uint16_t kind, size_t size_bytes, uint64_t now_ticks);
void gsg_queue_put_end(struct gsg_queue *queue);

/* Between the two the calling thread waits for something that does not depend on the queue, to put more then: what is held back waits
 * for that. */
void gsg_queue_pause(struct gsg_queue *queue, bool begins);

/* Whether the calling thread is a queue's. */
bool gsg_queue_is_own(void);

static inline bool gsg_queue_empty(const struct gsg_queue *queue)
{
	return atomic_load_explicit(&queue->head, memory_order_acquire) ==
	       atomic_load_explicit(&queue->tail, memory_order_acquire);
}

/* Both return when all that had been put has run, and do nothing in the queue's own thread. Flush is for calls that are no
 * work, catch_up for work that could not be put: only the first ends a run. */
void gsg_queue_flush(struct gsg_queue *queue);

/* The same as a flush where the thread rests and all has run; false: it is not so, and nothing is done. */
bool gsg_queue_flush_resting(struct gsg_queue *queue);
void gsg_queue_catch_up(struct gsg_queue *queue);

#endif
