/* The first error that sticks to a context: which work may have caused it.
 *
 * Such an error comes from work on the device and is returned by whatever call is made next, so the line that notices it
 * is mostly innocent. To blame can only be what was submitted and is not known to be done (shim/watch/launch.h). One
 * line on standard error says so, and a snapshot has all of it. The program gets its error unchanged. */
#ifndef GS_WATCH_STICKY_H
#define GS_WATCH_STICKY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/call.h"

/* What the snapshot says about it. */
struct gs_sticky_error {
	CUresult result;
	const char *name;     /* "CUDA_ERROR_ILLEGAL_ADDRESS" */
	const char *function; /* exported symbol of the call that returned it first */
	uint64_t time_ns;     /* CLOCK_MONOTONIC */
	uint32_t stack;	      /* of that call */
	uint32_t thread;      /* kernel thread id */
	uint64_t lost;	      /* launches that may be to blame, but are no longer in the log */
};

/* False: there was none. */
bool gs_sticky_read(struct gs_sticky_error *ret_error);

#endif
