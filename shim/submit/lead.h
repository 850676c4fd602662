/* How far the program is ahead of its devices.
 *
 * A stream takes some thousand pieces of work: 1020 kernels, copies, memsets or graphs, 735 kernels with 4000 bytes of parameters
 * (asked of a driver 580; records of events and waits for them take no place). Who gives it more waits in the driver for room, while
 * other threads go on, one of which may be what the device waits for. The queue's thread must never wait so, for all threads wait
 * for it. So work is put off only while all that is queued, and all that no device has finished, fit into one stream. Who is ahead of
 * that waits for a moment, as he would in the driver, and then does his work himself.
 *
 * What was finished is known by marks (shim/submit/mark.h), which the queue's thread makes every so many pieces of work. */
#ifndef GS_SUBMIT_LEAD_H
#define GS_SUBMIT_LEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once, before the queue starts. False: the driver cannot record what all streams of a context were given (before 12.5). */
bool gs_lead_start(void);

/* By a thread that is about to put work with so many bytes of parameters off, without any lock; false: it must do the work itself.
 * May wait. */
bool gs_lead_may_put(size_t bytes);

/* By the queue's thread, when it has done all that was put before gs_put_mark(covers), but for the launches that are held. */
void gs_lead_mark(uint64_t covers, uint32_t held);

/* In the child of a fork. */
void gs_lead_reset(void);

#endif
