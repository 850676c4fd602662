/* Events. A record replaces what the event stood for: a wait or query means the record that was newest when it was
 * called. An event that was never recorded counts as complete. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_op.h"

struct sim_event;

/* An operation that waits for the newest record of the event. */
struct sim_op *sim_event_wait_op(const struct sim_event *event);

/* A record of the event, to be submitted to the stream at once. */
struct sim_op *sim_event_record_op(struct sim_event *event, struct sim_stream *stream);

/* The stream waits for the event, as far as that concerns captures: see sim_capture_wait. */
CUresult sim_event_capture_wait(const struct sim_event *event, struct sim_stream *stream, bool *ret_captured);

/* The context goes away: so do its events. */
void sim_event_forget(const struct sim_ctx *ctx);

#endif
