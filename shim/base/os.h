/* What gpushim asks of the operating system: pages, clock, thread and process names. Allocates nothing from the
 * program's heap and leaves errno as it was. */
#ifndef GSB_OS_H
#define GSB_OS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_PAGE_BYTES 4096u

/* Zeroed private pages; size_bytes is rounded up to whole pages. NULL when the system refuses. */
void *gsb_os_pages_map(size_t size_bytes);
void gsb_os_pages_unmap(void *pages, size_t size_bytes);

/* Advice: that large pages are worth their while. */
void gsb_os_pages_prefer_large(void *pages, size_t size_bytes);

/* CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds. */
uint64_t gsb_os_now_ns(void);
uint64_t gsb_os_wall_ns(void);

/* CLOCK_MONOTONIC as of the last tick, some milliseconds ago: much cheaper. */
uint64_t gsb_os_now_coarse_ns(void);

/* No lock held: sleeps some microseconds, so that threads of any priority run: between two looks at what another is
 * about to do. */
void gsb_os_nap(void);

/* Kernel thread id of the caller. */
uint32_t gsb_os_tid(void);

/* Whether the page can be read; asks the system. */
bool gsb_os_is_readable(const void *address);

/* Around calls of the system that are cancellation points: a thread that was cancelled must not end in the middle of
 * our work, with a lock held, in a call of the program that is no cancellation point. */
int gsb_os_cancel_hold(void);
void gsb_os_cancel_restore(int state);

/* Around our writes: SIGPIPE and SIGXFSZ, which would end the program for a line or a file of ours, are held back and
 * those that the writes raised are taken off the thread again. */
struct gsb_os_held_signals {
	sigset_t before;
	sigset_t raised; /* those of the two that were not pending before */
};

void gsb_os_write_signals_hold(struct gsb_os_held_signals *held);
void gsb_os_write_signals_restore(const struct gsb_os_held_signals *held);

/* Reads at most capacity-1 bytes of a (proc) file into text and ends it with a zero byte. Returns the length, or
 * GS_E_IO. */
long gsb_os_read_file(const char *path, char *text, size_t capacity);

#endif
