/* The steps of the program: the rounds of its loops, as shim/watch/finder.h finds them or gpushim_step() says, and what the
 * process did in each.
 *
 * One thread leads: of those that launch in rounds the first, or the main thread once it does. What all threads did
 * while its round lasted belongs to the step. Once gpushim_step() has been called, it alone ends steps.
 *
 * Memory is bounded: the newest steps of all loops, and of each loop a histogram of the time that they took and the
 * longest ones. Any thread, at any time. */
#ifndef GS_WATCH_STEP_H
#define GS_WATCH_STEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/figure.h"
#include "shim/watch/finder.h"

#define GS_STEP_LOOPS	16u
#define GS_STEPS_KEPT	1024u
#define GS_STEP_LONGEST 8u

/*  X(name, key in the snapshot, meaning) */
#define GS_LOOP_KINDS(X)                                                                                               \
	X(FOUND, "found", "by the order of launches")                                                                  \
	X(MARKED, "marked", "by gpushim_step()")                                                                       \
	X(INNER, "inner", "found, but it is a loop inside the steps of another one")

enum gs_loop_kind {
#define GS_LOOP_KIND_ENUM(name, key, text) GS_LOOP_##name,
	GS_LOOP_KINDS(GS_LOOP_KIND_ENUM)
#undef GS_LOOP_KIND_ENUM
	GS_LOOP_KIND_COUNT
};

struct gs_loop {
	enum gs_loop_kind kind;
	uint32_t name;	 /* string: the kernel that begins a step; 0 = marked */
	uint32_t stack;	 /* where it is launched, or the mark is set */
	uint32_t thread; /* that leads */
	uint64_t steps;
	uint64_t wall_ns; /* of all */
	uint64_t median_ns, p99_ns, longest_ns;
	uint64_t figures[GS_FIGURE_COUNT]; /* sums; ticks as nanoseconds */
};

struct gs_step {
	uint32_t loop;
	uint64_t number; /* within its loop, from 1 */
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns;
	uint64_t figures[GS_FIGURE_COUNT]; /* ticks as nanoseconds */
};

/* gpushim_step() has been called: nothing more is to be found. */
extern _Atomic bool gs_steps_marked;

/* What the finder of the calling thread found with a launch that began at these ticks; not GS_FOUND_NOTHING. established: its
 * anchor has come round often. */
void gs_step_found(enum gs_found found, uint32_t name, uint32_t stack, bool established, uint64_t ticks);

/* A step ends here, another one begins. */
void gs_step_mark(const void *caller);

/* What all threads have added up so far; ticks as they are. */
void gs_figures_sum(uint64_t sums[GS_FIGURE_COUNT]);

/* The loop that held the program up most by launching: its launches took the host a quarter of its time, while the device, as far as
 * samples tell, had too little to do. False: there is none, or it was no great part of elapsed_ns. */
bool gs_step_launch_bound(uint64_t elapsed_ns, struct gs_loop *ret_loop);

/* Reading. Loops below the count are there for ever. Of the steps at most capacity are written, the newest last, before
 * them the longest that are older; returns how many there are. */
size_t gs_loop_count(void);
void gs_loop_read(size_t index, struct gs_loop *ret_loop);
size_t gs_step_read(struct gs_step *steps, size_t capacity);

void gs_step_reset_locks(void);

#endif
