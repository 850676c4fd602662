/* Events: see sim_event.h. The time of a record is written when its operation runs. */
#include "tests/sim/cuda/sim_event.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_event_share.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_pool.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_stream.h"

#define EVENT_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

struct sim_event {
	struct sim_ctx *ctx;
	unsigned flags;
	bool recorded;
	struct sim_point *points; /* of the newest record: one, or one per stream for a whole context */
	unsigned point_count;
	struct sim_stamp *stamp;       /* of the newest record */
	struct sim_capture *capture;   /* that the newest record is part of; NULL = none, and then no points */
	struct sim_place place;	       /* in the capture */
	struct sim_event_share *share; /* of an interprocess event; NULL = none */
	uint64_t own_record;	       /* the number there of the newest record that is ours */
	struct sim_event *next;	       /* in the list of all */
	struct sim_event **link;       /* what points to us there */
};

/* When a record ran; outlives the event while its operation is queued. */
struct sim_stamp {
	unsigned refs;
	uint64_t time_ns;	       /* 0 = has not run */
	struct sim_event_share *share; /* of an interprocess event */
	uint64_t number;	       /* there */
	unsigned left;		       /* operations of this record that have not run */
};

static struct sim_event *events;

static void stamp_put(struct sim_stamp *stamp)
{
	if (!stamp || --stamp->refs)
		return;
	sim_event_share_put(stamp->share);
	free(stamp);
}

static void event_clear(struct sim_event *event)
{
	for (unsigned i = 0; i < event->point_count; i++)
		sim_stream_put(event->points[i].stream);
	free(event->points);
	stamp_put(event->stamp);
	if (event->capture) {
		sim_capture_put(event->capture);
		sim_place_clear(&event->place);
		event->capture = NULL;
	}
	event->points = NULL;
	event->point_count = 0;
	event->stamp = NULL;
}

static void event_free(struct sim_event *event)
{
	*event->link = event->next;
	if (event->next)
		event->next->link = event->link;
	sim_handle_remove(event);
	event_clear(event);
	sim_event_share_put(event->share);
	free(event);
}

void sim_event_forget(const struct sim_ctx *ctx)
{
	struct sim_event *next;

	for (struct sim_event *event = events; event; event = next) {
		next = event->next;
		if (event->ctx == ctx)
			event_free(event);
	}
}

/* Another process made the newest record. */
static bool event_foreign(const struct sim_event *event)
{
	return event->share && sim_event_share_newest(event->share) != event->own_record;
}

struct sim_op *sim_event_wait_op(const struct sim_event *event)
{
	struct sim_op *op;

	if (event_foreign(event))
		return sim_event_share_wait_op(event->share, sim_event_share_newest(event->share));
	op = sim_op_new(SIM_OP_WAIT, 0);
	for (unsigned i = 0; i < event->point_count; i++)
		sim_op_after(op, event->points[i]);
	return op;
}

CUresult sim_event_capture_wait(const struct sim_event *event, struct sim_stream *stream, bool *ret_captured)
{
	*ret_captured = false;
	if (!event->recorded)
		return CUDA_SUCCESS;
	return sim_capture_wait(stream, event->capture, &event->place, ret_captured);
}

static bool event_reached(const struct sim_event *event)
{
	if (event_foreign(event))
		return sim_event_share_reached(event->share, sim_event_share_newest(event->share));
	for (unsigned i = 0; i < event->point_count; i++) {
		if (!sim_point_reached(event->points[i]))
			return false;
	}
	return true;
}

static CUresult event_find(CUevent handle, struct sim_event **ret_event)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_event = (struct sim_event *)handle;
	return (*ret_event)->ctx->sticky;
}

static struct sim_event *event_new(struct sim_ctx *ctx, unsigned flags, struct sim_event_share *share)
{
	struct sim_event *event = calloc(1, sizeof(*event));

	if (!event)
		abort();
	event->ctx = ctx;
	event->flags = flags;
	event->share = share;
	event->next = events;
	event->link = &events;
	if (events)
		events->link = &event->next;
	events = event;
	sim_handle_add(event, SIM_KIND_EVENT);
	return event;
}

CUresult cuEventCreate(CUevent *handle, unsigned flags)
{
	struct sim_event_share *share = NULL;
	struct sim_ctx *ctx;

	SIM_ENTER(cuEventCreate);
	sim_sched_await_room();
	SIM_TRY(sim_ctx_current(&ctx));
	if (!handle || (flags & ~(unsigned)EVENT_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS) {
		share = sim_event_share_new();
		if (!share)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = (CUevent)event_new(ctx, flags, share);
	return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent handle)
{
	struct sim_event *event;

	SIM_ENTER(cuIpcGetEventHandle);
	SIM_TRY(event_find(handle, &event));
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event->share)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_handle = sim_event_share_handle(event->share);
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle)
{
	struct sim_event_share *share;
	struct sim_ctx *ctx;

	SIM_ENTER(cuIpcOpenEventHandle);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!ret_event)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_event_share_open(&handle, &share));
	*ret_event = (CUevent)event_new(ctx, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, share);
	return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent handle)
{
	struct sim_event *event;

	SIM_TRY(event_find(handle, &event));
	event_free(event);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle)
{
	SIM_ENTER(cuEventDestroy);
	sim_sched_await_room();
	return event_destroy(handle);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	SIM_ENTER(cuEventDestroy_v2);
	sim_sched_await_room();
	return event_destroy(handle);
}

static void record_run(struct sim_op *op)
{
	struct sim_stamp *stamp = *(struct sim_stamp **)op->payload;

	stamp->time_ns = sim_sched_now_ns();
	if (--stamp->left == 0 && stamp->share)
		sim_event_share_done(stamp->share, stamp->number);
}

static void record_drop(struct sim_op *op)
{
	stamp_put(*(struct sim_stamp **)op->payload);
}

/* One more record of those that event_begin_record made room for. */
static struct sim_op *record_op(struct sim_event *event, struct sim_stream *stream)
{
	struct sim_op *op = sim_op_new(SIM_OP_EVENT, sizeof(struct sim_stamp *));

	event->stamp->refs++;
	*(struct sim_stamp **)op->payload = event->stamp;
	op->run = record_run;
	op->drop = record_drop;
	event->points[event->point_count++] = (struct sim_point){sim_stream_get(stream), stream->submitted + 1};
	return op;
}

static void event_begin_record(struct sim_event *event, unsigned streams)
{
	event_clear(event);
	event->recorded = true;
	event->points = calloc(streams ? streams : 1, sizeof(*event->points));
	event->stamp = calloc(1, sizeof(*event->stamp));
	if (!event->points || !event->stamp)
		abort();
	event->stamp->refs = 1;
	event->stamp->left = streams;
	if (event->share)
		event->own_record = event->stamp->number = sim_event_share_record(event->share);
	event->stamp->share = sim_event_share_get(event->share);
}

struct sim_op *sim_event_record_op(struct sim_event *event, struct sim_stream *stream)
{
	event_begin_record(event, 1);
	return record_op(event, stream);
}

/* A record in a capture marks a place in it; an external one is a node, and leaves the event as it was. */
static CUresult event_capture(struct sim_event *event, struct sim_stream *stream, unsigned flags)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {(CUevent)event}};

	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return sim_capture_add(stream, &params);
	event_clear(event);
	event->recorded = true;
	event->capture = sim_capture_get(stream->capture);
	event->place = sim_place_copy(&stream->place);
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent handle, CUstream stream_handle, bool per_thread, unsigned flags)
{
	struct sim_event *event;
	struct sim_stream *stream;

	SIM_TRY(sim_capture_find_stream(stream_handle, per_thread, &stream));
	SIM_TRY(event_find(handle, &event));
	if (flags > CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->ctx != stream->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return event_capture(event, stream, flags);
	sim_stream_submit(stream, sim_event_record_op(event, stream));
	return CUDA_SUCCESS;
}

SIM_TWIN(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
{
	return event_record(event, stream, per_thread, 0);
}

SIM_TWIN(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
{
	return event_record(event, stream, per_thread, flags);
}

CUresult cuCtxRecordEvent(CUcontext ctx_handle, CUevent handle)
{
	struct sim_ctx *ctx = (struct sim_ctx *)ctx_handle;
	struct sim_event *event;
	unsigned count = 0;

	SIM_ENTER(cuCtxRecordEvent);
	SIM_TRY(event_find(handle, &event));
	if (!sim_handle_is(ctx, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (event->ctx != ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	SIM_TRY(sim_capture_ask_ctx(ctx));
	for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
		count++;
	event_begin_record(event, count);
	for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
		sim_stream_submit(stream, record_op(event, stream));
	return CUDA_SUCCESS;
}

CUresult cuCtxWaitEvent(CUcontext ctx_handle, CUevent handle)
{
	struct sim_ctx *ctx = (struct sim_ctx *)ctx_handle;
	struct sim_event *event;

	SIM_ENTER(cuCtxWaitEvent);
	SIM_TRY(event_find(handle, &event));
	if (!sim_handle_is(ctx, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	SIM_TRY(sim_capture_ask_ctx(ctx));
	for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
		sim_stream_submit(stream, sim_event_wait_op(event));
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle)
{
	struct sim_event *event;

	SIM_ENTER(cuEventQuery);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(event_find(handle, &event));
	SIM_TRY(sim_capture_ask_event(event->capture));
	if (event_reached(event))
		return CUDA_SUCCESS;
	for (unsigned i = 0; i < event->point_count; i++)
		sim_sched_nudge(event->points[i]);
	return CUDA_ERROR_NOT_READY;
}

/* On a stream of its own: it may go away meanwhile. */
static void event_reach_foreign(const struct sim_event *event)
{
	struct sim_stream *lane = sim_stream_new_lane(event->ctx);

	sim_stream_submit(lane, sim_event_wait_op(event));
	sim_sched_reach(sim_stream_tail(lane));
	sim_stream_put(lane);
}

CUresult cuEventSynchronize(CUevent handle)
{
	struct sim_event *event;
	struct sim_ctx *ctx;

	SIM_ENTER(cuEventSynchronize);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(event_find(handle, &event));
	SIM_TRY(sim_capture_ask_event(event->capture));
	ctx = event->ctx;
	if (event_foreign(event))
		event_reach_foreign(event);
	else
		sim_sched_reach_all(event->points, event->point_count);
	sim_pool_settle();
	return ctx->sticky;
}

static CUresult event_elapsed(float *ms, CUevent start_handle, CUevent end_handle)
{
	struct sim_event *start, *end;

	SIM_TRY(event_find(start_handle, &start));
	SIM_TRY(event_find(end_handle, &end));
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (start->capture || end->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (!event_reached(start) || !event_reached(end))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)end->stamp->time_ns - (double)start->stamp->time_ns) / 1e6f;
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	SIM_ENTER(cuEventElapsedTime);
	return event_elapsed(ms, start, end);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	SIM_ENTER(cuEventElapsedTime_v2);
	return event_elapsed(ms, start, end);
}
