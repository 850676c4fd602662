/* Work on the legacy default stream that stands between streams which could run at the same time.
 *
 * The legacy stream waits for all blocking streams of its context, and they wait for it. Counted is work on it that found
 * work of one blocking stream not known to be done, and was itself not known to be done when another one was given work. Whether
 * it is meant as a barrier cannot be seen. */
#ifndef GS_WATCH_SERIAL_H
#define GS_WATCH_SERIAL_H

#include <stdatomic.h>

#include "shim/watch/proven.h"

void gs_serial_look(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when);

/* Work was submitted to the stream. */
static inline void gs_serial_submitted(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when)
{
	if (__builtin_expect(atomic_load_explicit(&gs_proven_blocking, memory_order_relaxed) >= 2, 0) &&
	    (stream->legacy || stream->blocking) && !stream->captured)
		gs_serial_look(stream, name, stack, when);
}

void gs_serial_reset_locks(void);

#endif
