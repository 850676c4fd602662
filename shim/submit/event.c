/* See event.h. An open-addressed table that never grows. */
#include "shim/submit/event.h"

#include <stdbool.h>
#include <string.h>

#include "shim/base/lock.h"

#define SLOTS 8192u /* a power of two */
#define PROBES 8u   /* places that an event may have */

static struct gsb_lock lock = GSB_LOCK_INIT(QUEUE);
static struct {
	CUevent event; /* NULL: free */
	uint64_t serial;
} slots[SLOTS]; /* under the lock, like what follows */
static uint64_t last_serial;
static bool used;

/* The place of the event, or a free one for event NULL; SLOTS: there is none. */
static uint32_t find(CUevent home, CUevent event)
{
	uint32_t first = (uint32_t)((uintptr_t)home * 0x9e3779b97f4a7c15u >> 40);

	for (uint32_t i = 0; i < PROBES; i++)
		if (slots[(first + i) & (SLOTS - 1)].event == event)
			return (first + i) & (SLOTS - 1);
	return SLOTS;
}

void gs_submit_event_made(CUevent event, unsigned int flags)
{
	uint32_t slot;

	gsb_lock_acquire(&lock);
	slot = find(event, event);
	if (slot == SLOTS)
		slot = find(event, NULL);
	if (slot != SLOTS) {
		slots[slot].event = (flags & CU_EVENT_INTERPROCESS) == 0 ? event : NULL;
		slots[slot].serial = ++last_serial;
		used = true;
	}
	gsb_lock_release(&lock);
}

void gs_submit_event_gone(CUevent event)
{
	uint32_t slot;

	gsb_lock_acquire(&lock);
	slot = find(event, event);
	if (slot != SLOTS)
		slots[slot].event = NULL;
	gsb_lock_release(&lock);
}

uint64_t gs_submit_event_serial(CUevent event)
{
	uint64_t serial = 0;
	uint32_t slot;

	if (event == NULL)
		return 0;
	gsb_lock_acquire(&lock);
	slot = find(event, event);
	if (slot != SLOTS)
		serial = slots[slot].serial;
	gsb_lock_release(&lock);
	return serial;
}

void gs_submit_event_forget(void)
{
	gsb_lock_acquire(&lock);
	if (used)
		memset(slots, 0, sizeof(slots));
	used = false;
	gsb_lock_release(&lock);
}

void gs_submit_event_reset_locks(void)
{
	gsb_lock_reset(&lock);
}
