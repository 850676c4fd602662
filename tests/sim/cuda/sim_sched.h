/* The scheduler: decides when queued operations run.
 *
 * Operations run on the thread that forces them, inside its driver call; only host functions have a thread of their
 * own. What may run is fixed by sim_op.h; when it runs, by SIM_POLICY, or by the log that is replayed. Every choice
 * comes from one generator seeded by SIM_SEED, and goes into the log: sim_log.h. */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include "tests/sim/cuda/sim_stream.h"

/* At the start of every driver call: the policies that run work unasked do so here. */
void sim_sched_tick(void);

/* Runs everything that can run. */
void sim_sched_run_ready(void);

/* After a submission. */
void sim_sched_submitted(struct sim_point point);

/* Runs what is needed, and nothing else, until the point is reached. */
void sim_sched_reach(struct sim_point point);

/* As sim_sched_reach, for several; they may go away meanwhile. */
void sim_sched_reach_all(const struct sim_point *points, unsigned count);

/* Records of events that the stream comes to next, if nothing is in their way. */
void sim_sched_finish_records(struct sim_stream *stream);

/* One step towards the point: what a query does, so that polling ends. */
void sim_sched_nudge(struct sim_point point);

/* Runs the oldest operation of the stream, and what that needs. False inside an operation, which cannot wait. */
bool sim_sched_make_room(struct sim_stream *stream);

/* Waits while another thread does that: as whoever creates or ends something does on a real driver, asked of a 580. */
void sim_sched_await_room(void);

/* Reaches the end of every stream of the context, destroyed ones with queued work included. */
void sim_sched_drain(struct sim_ctx *ctx);

/* Device time: each step takes a microsecond. */
uint64_t sim_sched_now_ns(void);

/* Queued operations that have run to their end. */
unsigned long sim_sched_operations(void);

#endif
