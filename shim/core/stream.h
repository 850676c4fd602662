/* A stream handle of the program, resolved to something that stays true: handles are reused and the default ones mean
 * different streams by thread and context (H6, H16). */
#ifndef GS_CORE_STREAM_H
#define GS_CORE_STREAM_H

#include <stdbool.h>

#include "allocator/ops.h"
#include "shim/api/cuda.h"

/* per_thread: the call was made through a per-thread-stream twin, where 0 means the calling thread's own stream.
 * False for a stream that takes part in a capture: asking for its id breaks the capture (measured on a driver 580;
 * cuda.h does not say so). False when the driver cannot tell: no such stream, no context, a driver before 12.0. Then
 * the call is not ours. */
bool gs_stream_resolve(CUstream handle, bool per_thread, struct gsa_stream *ret_stream);

/* The same where the calling thread's current context is known. */
struct gs_context;
bool gs_stream_resolve_in(const struct gs_context *context, CUstream handle, bool per_thread,
			  struct gsa_stream *ret_stream);

/* Whether what the stream is given is kept in order with what others are: with blocking ones if it is the legacy stream, with the
 * legacy stream if it is a blocking one. Asks the driver. */
bool gs_stream_takes_part(const struct gsa_stream *stream);

/* Whether the id is that of a thread's own default stream, by gs_thread_serial. */
bool gs_stream_is_of_thread(uint64_t id, uint32_t serial);

/* A stream of the program ends: before the driver is asked to, and after, when its handle may already be another's.
 * Likewise before a context ends; that it has ended is told by gs_context_changes. */
void gs_stream_ends(void);

/* Grows with each of these. */
uint64_t gs_stream_endings(void);

#endif
