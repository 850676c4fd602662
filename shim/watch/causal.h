/* What work of a stream comes after what work of others: a small happens-before model of all streams of the process.
 *
 * A moment is given in ticks. For each stream there is a clock: for every other stream, the moment up to which the other's
 * work comes before what is submitted next to this one. Clocks grow by events (recorded, waited for), by the rules of the legacy stream,
 * and by what the host has waited for or found done, which comes before whatever any thread submits afterwards.
 *
 * In doubt work is ordered: an event that is not known orders all that was submitted so far, and so does everything by
 * which a program may learn that work is done and we do not (host functions, words of memory, frees, graphs that record events).
 * When more streams are in use than there is room for, nothing is judged any more. Thread-safe (lock LIVE, a leaf). */
#ifndef GS_WATCH_CAUSAL_H
#define GS_WATCH_CAUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/watch/proven.h"

#define GS_CAUSAL_STREAMS 64u

/* A moment in the work of a stream. */
struct gs_causal_point {
	uint64_t when;
	uint64_t stream; /* id */
	uint8_t slot;
};

/* Work was submitted to the stream. False: nothing can be said about it. */
bool gs_causal_work(const struct gs_work_stream *stream, uint64_t when, struct gs_causal_point *ret_point);

/* The earlier work is done, or done before the later, for sure or in doubt. */
bool gs_causal_before(const struct gs_causal_point *earlier, const struct gs_causal_point *later);

/* The host knows that it is done. */
bool gs_causal_done(const struct gs_causal_point *point);

/* Events: before as in proven.h. */
void gs_causal_recorded(CUevent event, const struct gs_work_stream *stream, uint64_t before);
void gs_causal_event_gone(CUevent event);
void gs_causal_waits(const struct gs_work_stream *stream, CUevent event, uint64_t when);

/* The host has waited for the event, the stream, or everything that was submitted before. */
void gs_causal_event_done(CUevent event, uint64_t before);
void gs_causal_stream_done(const struct gs_work_stream *stream, uint64_t before);
void gs_causal_all_done(uint64_t before);

/* Somebody records events unseen: from now on events order everything. */
void gs_causal_distrust_events(void);

void gs_causal_reset_locks(void);

#endif
