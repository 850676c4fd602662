/* How far the work of streams is known to have come: what the host has waited for, or asked about and found done.
 *
 * Moments are ticks (gs_ticks). "Proven up to a moment" means that whatever had been submitted before it has run to its
 * end without an error. What is known comes from waits and questions about streams, contexts and events, from copies to the
 * host that return when they are done, and from what a stream had waited for itself. Forgetting something is allowed
 * here and makes the answer vaguer; a wrong "proven" is not. Thread-safe (lock LIVE, a leaf). */
#ifndef GS_WATCH_PROVEN_H
#define GS_WATCH_PROVEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"

/* A stream as work remembers it. */
struct gs_work_stream {
	uint64_t id;	  /* as of gs_stream_resolve, or made up from the handle where the driver does not tell; 0 = captured */
	uint32_t context; /* gs_work_context of its context; 0 = unknown */
	bool blocking;	  /* work on the legacy stream of its context waits for it */
	bool captured;	  /* it takes part in a capture: what is submitted becomes part of a graph */
	bool legacy;	  /* the legacy stream of its context */
	bool made_up;	  /* the id is; the stream may have another at another time */
	uint16_t place;	  /* in the table of streams; 0 = none */
};

void gs_work_stream_find(CUstream handle, bool per_thread, struct gs_work_stream *ret_stream);

/* A short name of a context. Contexts that do not live at the same time may share it. */
uint32_t gs_work_context(CUcontext context);

/* Work was submitted to the stream by then. */
#define GS_PROVEN_STREAMS 1024u
extern struct gs_submitted {
	_Atomic uint64_t when;
	char apart[56]; /* streams of several threads do not share a cache line */
} gs_submitted[GS_PROVEN_STREAMS + 1]; /* by place */

/* Blocking streams that were ever seen, the legacy one aside. */
extern _Atomic unsigned gs_proven_blocking;

static inline void gs_proven_submitted(const struct gs_work_stream *stream, uint64_t when)
{
	atomic_store_explicit(&gs_submitted[stream->place].when, when, memory_order_relaxed);
}

/* Whether something that was submitted may still be going on: in the stream, with what it waits for itself; before the
 * event; in the context. Cheap; in doubt true. ret_followed: more was submitted to the event's stream behind it; in doubt false. */
bool gs_proven_stream_pending(const struct gs_work_stream *stream);
bool gs_proven_event_pending(CUevent event, uint32_t *ret_context, bool *ret_followed);
bool gs_proven_context_pending(uint32_t context);

/* before: taken before the wait began, or the question was asked, that ended well. */
void gs_proven_stream(uint64_t stream, uint64_t before);
void gs_proven_context(uint32_t context, uint64_t before);

/* A copy on the legacy stream is done, which had waited for all blocking streams of the context. */
void gs_proven_legacy(const struct gs_work_stream *legacy, uint64_t before);

/* An event was recorded on the stream (before: taken before that), is done, is destroyed. */
void gs_proven_event_recorded(CUevent event, const struct gs_work_stream *stream, uint64_t before);
void gs_proven_event_done(CUevent event);
void gs_proven_event_gone(CUevent event);

/* Work that is submitted to the stream at `when` or later waits for the event. */
void gs_proven_stream_waits(const struct gs_work_stream *stream, CUevent event, uint64_t when);

/* The stream is about to end, the thread's own streams have, all streams of a context have with it: what they were given is looked
 * at until it is done. */
void gs_proven_stream_ends(uint64_t id);
void gs_proven_thread_ends(uint32_t serial);
void gs_proven_context_gone(uint32_t context);

/* Work that had been submitted by `when` is known to be done. */
bool gs_proven_is(uint64_t stream, uint32_t context, bool blocking, uint64_t when);

void gs_proven_reset_locks(void);

#endif
