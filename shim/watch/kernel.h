/* What was submitted, in all: one row for each kernel, or other kind of work, at each place of the program, with how often and
 * what it cost the host. The launch log (launch.h) finds the row of each launch and knows the newest one by one.
 *
 * Any thread, at any time; bounded: a place that finds no room is counted for its kernel without one, and a kernel for which there is
 * none either only among the functions. */
#ifndef GS_WATCH_KERNEL_H
#define GS_WATCH_KERNEL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/sum.h"

/* A launch that took the host this many ticks of the time-stamp counter waited: the queue was full, or code was loaded. 8 to 16
 * microseconds on processors that count at 2 to 4 GHz. */
#define GS_KERNEL_LONG_TICKS (1u << 15)

struct gs_kernel_row {
	uint32_t name, stack;
	uint32_t kind;
	uint32_t owner; /* of the sums: whose launch was the first one */
	struct gs_sum calls, ticks;
	_Atomic uint64_t mean_ns; /* of time on the device */
	_Atomic uint64_t long_calls, long_ticks;
	_Atomic uint64_t samples, sampled_ns;
};

/* The row; NULL: there is no room. kind: enum gs_work_kind. */
struct gs_kernel_row *gs_kernel_row(uint32_t kind, uint32_t name, uint32_t stack);

static inline void gs_kernel_add(struct gs_kernel_row *row, uint64_t ticks)
{
	gs_sum_add(&row->calls, row->owner, 1);
	gs_sum_add(&row->ticks, row->owner, ticks);
	if (__builtin_expect(ticks >= GS_KERNEL_LONG_TICKS, 0)) {
		atomic_fetch_add_explicit(&row->long_calls, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&row->long_ticks, ticks, memory_order_relaxed);
	}
}

/* One of them took so long on its device. */
void gs_kernel_sampled(struct gs_kernel_row *row, uint64_t device_ns);

/* Reading: rows below the count are there for ever, and their figures grow. */
struct gs_kernel {
	uint32_t name, stack, kind;
	uint64_t calls, host_ns, long_calls, long_ns;
	uint64_t samples, sampled_ns;
};

size_t gs_kernel_count(void);
void gs_kernel_read(size_t index, struct gs_kernel *ret_kernel);

#endif
