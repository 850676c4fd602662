/* When a snapshot is written, or a line of status printed, in the middle of a program: every N seconds, on a signal, at a new high-water mark, on request
 * from outside.
 *
 * All of them meet in one word, due_ticks of the page that the process shares (report/live.h): a call that ends at or
 * after that time looks what is wanted. So a program pays one load and one comparison a call. Nothing happens in a
 * program that makes no CUDA call; there is no thread and no timer of ours.
 *
 * The signal is SIGUSR2, taken only where the program has no handler for it when CUDA starts; one that it sets later
 * takes its place.
 *
 * The snapshot of the peak is replaced when more is alive than in the last one, by 1/256 at least, within 1/256 of the
 * most that ever was, and so seldom that writing takes at most a twentieth of the time. So a program that reaches its peak again and again ends with a
 * snapshot of it; one whose only peak is over in milliseconds may end with an earlier one. */
#ifndef GS_SNAP_TRIGGER_H
#define GS_SNAP_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/live.h"
#include "shim/base/hot.h"
#include "shim/base/os.h"

/* The page of this process; unshared where there is no shared memory. */
extern GSB_OURS union gs_trigger_page {
	struct gs_live_page page;
	char bytes[GSB_PAGE_BYTES];
} gs_trigger_page;

/* ticks: of the end of a call, 0 when it was not timed: then only what is wanted at once is due. */
static inline bool gs_trigger_is_due(uint64_t ticks)
{
	return ticks >= atomic_load_explicit(&gs_trigger_page.page.due_ticks, memory_order_relaxed);
}

/* Makes the page and takes the signal, as the settings say: once, after gs_conf_load and gs_counter_init. Without the
 * shared page the other two work. */
void gs_trigger_init(void);

/* The device is in use from now on; others may ask for what is free there. One caller at a time. */
void gs_trigger_device_used(int ordinal, const unsigned char uuid[16]);

/* Does what is due: from gs_call_end, with the thread inside and no lock held. ticks: of the end of the call, or 0. */
void gs_trigger_fire(uint64_t ticks);

/* More has become alive on this device: tensors where PyTorch reports them, else blocks. For snapshot:peak alone. */
void gs_trigger_grown(int ordinal);

#endif
