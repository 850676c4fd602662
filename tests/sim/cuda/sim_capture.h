/* Stream capture.
 *
 * A capture is open from its begin until its end, on the stream where it began (its origin) and on those that an event
 * wait pulled in since. Work submitted on these streams becomes nodes of its graph. Each stream has a place there: the
 * nodes that its next one comes after. An event recorded in the capture remembers a place. A call that conflicts with a
 * capture fails and invalidates it; an invalidated capture stays on its streams until it is ended. It is over, too,
 * when its origin or its context is destroyed.
 *
 * A capture outlives its end as long as an event was last recorded in it. */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "tests/sim/cuda/sim_stream.h"

struct sim_capture;
struct sim_graph;

struct sim_capture *sim_capture_get(struct sim_capture *capture);
void sim_capture_put(struct sim_capture *capture);

/* The stream captures, and is where that began. */
bool sim_capture_began_on(const struct sim_stream *stream);

/* As sim_stream_find, for a stream that the caller is about to submit work to: not while its capture is invalidated,
 * nor to the legacy stream while a blocking stream of the context captures, which that invalidates. */
CUresult sim_capture_find_stream(CUstream handle, bool per_thread, struct sim_stream **ret_stream);

/* The call is potentially unsafe in the sense of cuThreadExchangeStreamCaptureMode: not while the thread's mode and the
 * open captures forbid it. First thing in such a call. A capture in a broken context can no longer be anything, and
 * forbids nothing: what the context is stuck with comes first. */
CUresult sim_capture_unsafe(void);

/* The host is about to ask for the state of the stream, or of the whole context: not while that captures. */
CUresult sim_capture_ask_stream(const struct sim_stream *stream);
CUresult sim_capture_ask_ctx(const struct sim_ctx *ctx);

/* The same of an event recorded in this capture, open or over. */
CUresult sim_capture_ask_event(struct sim_capture *capture);

/* A stream waits for an event that was last recorded in `recorded` (NULL: in none), at that place. Pulls the stream in.
 * ret_captured: the wait became part of a capture, and there is nothing to submit. */
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_capture *recorded, const struct sim_place *place,
			  bool *ret_captured);

/* What is submitted to a capturing stream: a node at its place. */
CUresult sim_capture_add(struct sim_stream *stream, CUgraphNodeParams *params);

CUresult sim_capture_alloc(struct sim_stream *stream, size_t size_bytes, CUdeviceptr *ret_pointer);
CUresult sim_capture_free(struct sim_stream *stream, CUdeviceptr pointer);

/* A capture into the graph is open: streams and events have places in it. */
bool sim_capture_into(const struct sim_graph *graph);

/* The stream, or all of the context, is about to go. */
void sim_capture_stream_gone(struct sim_stream *stream);
void sim_capture_forget(const struct sim_ctx *ctx);

#endif
