/* Where the host waited: for each place, how often, how long and for how much.
 *
 * A place is a function, a stack, a way of copying and a kind of host memory. Where a
 * wait is likely the stack is taken before the call, while the device still has work to do: that costs the program
 * nothing. Elsewhere it is taken after the call, if that took GS_WAIT_SHORT_TICKS or more; shorter copies count for their
 * function, without a stack, since a stack would cost as much as the copy.
 *
 * Any thread, at any time; the table is bounded, and what finds no room counts for its function. */
#ifndef GS_WATCH_WAIT_H
#define GS_WATCH_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/class.h"
#include "shim/api/fn.h"
#include "shim/core/thread.h"
#include "shim/watch/copy.h"

/* 4 to 8 microseconds on processors whose time-stamp counter runs at 2 to 4 GHz: less than it takes to wait for anything. */
#define GS_WAIT_SHORT_TICKS (1u << 14)

/*  X(name, key in the snapshot, meaning) */
#define GS_HOST_MEMORIES(X)                                                                                            \
	X(NONE, "none", "no host memory, or not known")                                                                \
	X(PAGEABLE, "pageable", "the driver stages it")                                                                \
	X(PINNED, "pinned", "the device reads or writes it itself")                                                    \
	X(MANAGED, "managed", "moves by itself")

enum gs_host_memory {
#define GS_HOST_MEMORY_ENUM(name, key, text) GS_HOST_MEMORY_##name,
	GS_HOST_MEMORIES(GS_HOST_MEMORY_ENUM)
#undef GS_HOST_MEMORY_ENUM
	GS_HOST_MEMORY_COUNT
};

/* What is known of a call before it is made. */
struct gs_wait_row;
struct gs_wait_call {
	struct gs_wait_row *row; /* of the place, found before the call; NULL: not yet */
	uint64_t size_bytes;
	uint32_t stack;
	uint32_t context; /* that it waits for, or in; gs_work_context; 0 = unknown */
	uint8_t way;      /* enum gs_copy_way */
	uint8_t memory;   /* enum gs_host_memory */
	bool stacked;     /* the stack has been taken */
	bool clear;       /* nothing was left to wait for, as far as the host knew */
	bool waits;       /* it was found out whether that is so */
	bool cached;      /* memory was had from the cache or went into it, and nobody waited for that */
	bool followed;    /* it waits for an event behind which its stream had been given more work */
};

struct gs_call;
struct gs_work_stream;

/* Before a call that waits by name, before a copy, and after any call that is timed. */
void gs_wait_expect(struct gs_call *call);
void gs_wait_copies(struct gs_call *call, const struct gs_copy *copy, CUstream stream);
void gs_wait_ended(struct gs_call *call, CUresult result, uint64_t ticks);

/* What it is about to wait for. context: gs_work_context. */
void gs_wait_for_stream(struct gs_call *call, const struct gs_work_stream *stream);
void gs_wait_for_event(struct gs_call *call, CUevent event);
void gs_wait_for_context(struct gs_call *call, uint32_t context);

/* Kernels and graphs that all threads have launched, give or take GS_WAIT_LAUNCHES_APART for each. */
#define GS_WAIT_LAUNCHES_APART 16u
extern _Atomic uint64_t gs_wait_launches;

static inline void gs_wait_launched(void)
{
	if (++gs_thread.launches % GS_WAIT_LAUNCHES_APART == 0)
		atomic_fetch_add_explicit(&gs_wait_launches, GS_WAIT_LAUNCHES_APART, memory_order_relaxed);
}

/* After a call that asked whether something is done, in the order of the thread's calls. */
void gs_wait_polled(struct gs_call *call, bool done);

/* The time between two events was asked for: what the thread waited for last, it waited for to measure time. */
void gs_wait_timed(void);

/* Host memory was pinned or unpinned: what an address was no longer holds. */
void gs_wait_memory_changed(void);

/* Reading: rows below the count are there for ever, and their figures grow. */
struct gs_wait {
	uint32_t name; /* string of shim/stack: the driver function */
	enum gs_call_class call_class;
	uint32_t stack; /* 0: all short calls, and those that found no room */
	enum gs_copy_way way;
	enum gs_host_memory memory;
	uint64_t calls; /* of polls: waits by polling */
	uint64_t apart; /* calls with a launch since the one before at this place: of the same thread, if it launches anything */
	uint64_t first_launch, last_launch; /* how many launches there had been at the first and at the last call */
	uint64_t host_ns;
	uint64_t longest_ns;
	uint64_t size_bytes;
	uint64_t clear, clear_ns, clear_bytes; /* of calls that had nothing to wait for, as far as the host knew */
	uint64_t drained;		       /* calls that left the context without work */
	uint64_t idle_ns;		       /* from then until it was given some (gap.h) */
	uint64_t timed; /* calls after which the thread asked for the time between two events */
	uint64_t late;	/* calls since the launches doubled that there had been, once or twice */
	uint64_t followed; /* calls that waited for an event with more work behind it */
};

size_t gs_wait_count(void);

/* The place that cost the host most of those that it came to again and again, but for waits for events with more work behind them.
 * False: none cost a hundredth of elapsed_ns. */
bool gs_wait_dearest(uint64_t elapsed_ns, struct gs_wait *ret_wait);
void gs_wait_read(size_t index, struct gs_wait *ret_wait);

#endif
