/* Streams: queues of operations in order.
 *
 *   submitted - completed = number of queued operations;  completed <= submitted
 *
 * Default-stream rules, by operations' `after` points at submission: an operation on the legacy stream waits for the
 * last one of every blocking stream of its context, and an operation on a blocking stream waits for the last one on
 * the legacy stream. A record of an event is no work to wait for, as on a real driver (580), though it comes after the legacy
 * stream's: see tests/conformance/drv_blocking_stream_event.c. Who asks or waits for the legacy stream asks or waits for the blocking streams, too. Per-thread default
 * streams are blocking streams. A destroyed stream finishes its queue; meanwhile its handle may already mean a new one, whose id
 * is another. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_op.h"
#include "tests/sim/cuda/sim_place.h"

struct sim_capture;
struct sim_stream_cell;

struct sim_stream {
	uint64_t id;		      /* unique in the process, never reused */
	struct sim_stream_cell *cell; /* its handle, which is reused; NULL = it has none any more */
	struct sim_ctx *ctx;
	unsigned flags; /* CU_STREAM_NON_BLOCKING */
	int priority;
	unsigned demoted; /* by SIM_POLICY=priority, the how manyeth time; 0 = never */
	bool legacy;
	bool destroyed;
	bool running; /* the host thread is inside its head operation */
	unsigned refs;
	uint64_t submitted;
	uint64_t completed;
	uint64_t worked; /* the last operation that is no record of an event: whoever waits for the stream waits for that */
	struct sim_capture *capture;	 /* that the stream takes part in; NULL = none */
	struct sim_stream *capture_next; /* in the list of its streams */
	struct sim_place place;		 /* in the capture: what its next node comes after */
	uint64_t shadow_before;		 /* see sim_shadow.c */
	struct sim_op *head;
	struct sim_op *tail;
	struct sim_stream *next;       /* in ctx->streams */
	struct sim_stream *busy_next;  /* in the list of streams with queued operations, by first submission */
	struct sim_stream **busy_link; /* what points to us there; NULL = nothing queued */
};

struct sim_stream *sim_stream_get(struct sim_stream *stream);
void sim_stream_put(struct sim_stream *stream);

struct sim_stream *sim_stream_new(struct sim_ctx *ctx, unsigned flags, int priority);

/* Its handle is gone; what is queued still runs. The context does not list it any more. */
void sim_stream_end(struct sim_stream *stream);

/* A stream without a handle, non-blocking, which its context does not list: for sim_exec.c. */
struct sim_stream *sim_stream_new_lane(struct sim_ctx *ctx);

/* The stream that a handle means for the calling thread, in the driver's order of complaints. */
CUresult sim_stream_find(CUstream handle, bool per_thread, struct sim_stream **ret_stream);

/* Queues the operation, which belongs to the stream from then on; not on a capturing stream. Returns its point without
 * a reference: valid until the baton is given away. */
struct sim_point sim_stream_submit(struct sim_stream *stream, struct sim_op *op);

/* The point at which everything submitted so far is complete. */
struct sim_point sim_stream_tail(struct sim_stream *stream);

/* All streams of the process that have something queued, through ->busy_next. */
struct sim_stream *sim_stream_busy_first(void);

/* The head operation ran: takes it off the queue and frees it. */
void sim_stream_complete(struct sim_stream *stream);

bool sim_point_reached(struct sim_point point);

#endif
