/* Events that the program made and has not destroyed, as far as their records and waits may be put off: interprocess events
 * are left out (H15). Thread-safe; an event that finds no room is not known. */
#ifndef GS_SUBMIT_EVENT_H
#define GS_SUBMIT_EVENT_H

#include <stdint.h>

#include "shim/api/cuda.h"

void gs_submit_event_made(CUevent event, unsigned int flags);
void gs_submit_event_gone(CUevent event);

/* A number for what is known of an event: never used again once the event is gone. 0: not known. What is known of one that is
 * recorded in a capture, and for which the driver refuses to wait elsewhere until it is recorded again, ends with the capture
 * (shim/core/epoch.h). */
uint64_t gs_submit_event_serial(CUevent event);

/* A context ended, and its events with it. */
void gs_submit_event_forget(void);

void gs_submit_event_reset_locks(void);

#endif
