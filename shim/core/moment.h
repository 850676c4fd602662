/* A moment before the host waits for a context: what had been freed and submitted by then is done once it has waited.
 *
 * Only where the context is the only one: work of others may use the same memory. */
#ifndef GS_CORE_MOMENT_H
#define GS_CORE_MOMENT_H

#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/core/device.h"
#include "shim/core/host.h"

struct gs_moment {
	int devices;			   /* ordinals below it; of those used since, nothing is known */
	uint64_t serials[GS_DEVICE_LIMIT]; /* of frees; 0: the device was not in use */
	struct gsa_pinned_mark host;
	uint64_t to_host;
};

/* What was put off by then is submitted when this returns: another thread may have put off a launch, and freed its memory,
 * since the call flushed. */
void gs_moment_take(struct gs_moment *ret_moment);

/* The host has waited for everything that was submitted to the context before the moment. */
void gs_moment_passed(const struct gs_moment *moment, CUcontext context);

/* Waits for the context, and for nothing if it cannot be made current. Returns what the wait met, or
 * would have met as the context is broken. */
CUresult gs_moment_await(CUcontext context);

#endif
