/* Streams: see sim_stream.h. A stream is held by its handle, by its queue while that is not empty, and by every point
 * that names it. A handle is the address of a cell that names the stream. Cells without a stream are used again, the
 * newest first, mostly: whoever tells streams apart by handle takes the new one for the old one, as on a real driver.
 */
#include "tests/sim/cuda/sim_stream.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_event.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_pool.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_tsan.h"

#define FRESH_ONE_IN 4

struct sim_stream_cell {
	struct sim_stream *stream;
	struct sim_stream_cell *next_free;
};

static uint64_t next_id = 1;
static struct sim_stream_cell *free_cells;
static struct sim_stream *busy_first;
static struct sim_stream **busy_end = &busy_first;

struct sim_stream *sim_stream_get(struct sim_stream *stream)
{
	stream->refs++;
	return stream;
}

void sim_stream_put(struct sim_stream *stream)
{
	if (--stream->refs == 0)
		free(stream);
}

static struct sim_stream *stream_new(struct sim_ctx *ctx, unsigned flags, int priority)
{
	struct sim_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->id = next_id++;
	stream->ctx = ctx;
	stream->flags = flags;
	stream->priority = priority;
	stream->refs = 1;
	return stream;
}

/* A function of the seed and of the streams so far: a replay comes to the same. */
static struct sim_stream_cell *cell_take(struct sim_stream *stream)
{
	uint64_t drawn = (stream->id + sim_conf()->seed) * 0x9E3779B97F4A7C15ull >> 32;
	struct sim_stream_cell *cell = free_cells;

	if (cell && drawn % FRESH_ONE_IN)
		free_cells = cell->next_free;
	else
		cell = calloc(1, sizeof(*cell));
	if (!cell)
		abort();
	cell->stream = stream;
	sim_handle_add(cell, SIM_KIND_STREAM);
	return cell;
}

struct sim_stream *sim_stream_new(struct sim_ctx *ctx, unsigned flags, int priority)
{
	struct sim_stream *stream = stream_new(ctx, flags, priority);

	stream->cell = cell_take(stream);
	stream->next = ctx->streams;
	ctx->streams = stream;
	return stream;
}

void sim_stream_end(struct sim_stream *stream)
{
	stream->destroyed = true;
	sim_handle_remove(stream->cell);
	stream->cell->next_free = free_cells;
	free_cells = stream->cell;
	stream->cell = NULL;
	sim_stream_put(stream);
}

struct sim_stream *sim_stream_new_lane(struct sim_ctx *ctx)
{
	return stream_new(ctx, CU_STREAM_NON_BLOCKING, 0);
}

CUresult sim_stream_find(CUstream handle, bool per_thread, struct sim_stream **ret_stream)
{
	struct sim_ctx *ctx;

	if (handle != NULL && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
		SIM_TRY(sim_ready());
		if (!sim_handle_is(handle, SIM_KIND_STREAM))
			return CUDA_ERROR_INVALID_HANDLE;
		*ret_stream = ((struct sim_stream_cell *)handle)->stream;
		return (*ret_stream)->ctx->sticky;
	}
	SIM_TRY(sim_ctx_current(&ctx));
	*ret_stream =
	    handle == CU_STREAM_PER_THREAD || (handle == NULL && per_thread) ? sim_ctx_thread_stream(ctx) : ctx->legacy;
	return CUDA_SUCCESS;
}

struct sim_point sim_stream_tail(struct sim_stream *stream)
{
	return (struct sim_point){stream, stream->submitted};
}

bool sim_point_reached(struct sim_point point)
{
	if (point.stream && point.stream->completed < point.seq)
		return false;
	if (point.stream)
		sim_tsan_after(point.stream);
	return true;
}

struct sim_stream *sim_stream_busy_first(void)
{
	return busy_first;
}

static void busy_add(struct sim_stream *stream)
{
	stream->busy_link = busy_end;
	stream->busy_next = NULL;
	*busy_end = stream;
	busy_end = &stream->busy_next;
}

static void busy_remove(struct sim_stream *stream)
{
	*stream->busy_link = stream->busy_next;
	if (stream->busy_next)
		stream->busy_next->busy_link = stream->busy_link;
	else
		busy_end = stream->busy_link;
	stream->busy_link = NULL;
}

static bool stream_takes_part(const struct sim_stream *legacy, const struct sim_stream *other)
{
	return other != legacy && other->ctx == legacy->ctx && !(other->flags & CU_STREAM_NON_BLOCKING);
}

/* The implicit waits of the legacy default stream. */
static void stream_default_rules(struct sim_stream *stream, struct sim_op *op)
{
	if (stream->flags & CU_STREAM_NON_BLOCKING)
		return;
	if (!stream->legacy) {
		sim_op_after(op, sim_stream_tail(stream->ctx->legacy));
		return;
	}
	for (struct sim_stream *other = busy_first; other; other = other->busy_next) {
		if (stream_takes_part(stream, other))
			sim_op_after(op, sim_stream_tail(other));
	}
}

struct sim_point sim_stream_submit(struct sim_stream *stream, struct sim_op *op)
{
	struct sim_point point;

	stream_default_rules(stream, op);
	if (op->host_code)
		sim_tsan_before(op);
	op->seq = ++stream->submitted;
	if (op->kind != SIM_OP_EVENT)
		stream->worked = op->seq;
	if (stream->tail) {
		stream->tail->next = op;
	} else {
		stream->head = op;
		sim_stream_get(stream);
		busy_add(stream);
	}
	stream->tail = op;
	point = sim_stream_tail(stream);
	sim_sched_submitted(point);
	return point;
}

void sim_stream_complete(struct sim_stream *stream)
{
	struct sim_op *op = stream->head;

	stream->head = op->next;
	stream->completed = op->seq;
	sim_op_free(op);
	if (!stream->head) {
		stream->tail = NULL;
		busy_remove(stream);
		sim_stream_put(stream);
	}
}

static CUresult stream_create(CUstream *handle, unsigned flags, int priority)
{
	struct sim_ctx *ctx;

	SIM_TRY(sim_ctx_current(&ctx));
	if (!handle || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUstream)sim_stream_new(ctx, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority)->cell;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *handle, unsigned flags)
{
	SIM_ENTER(cuStreamCreate);
	sim_sched_await_room();
	return stream_create(handle, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority)
{
	SIM_ENTER(cuStreamCreateWithPriority);
	sim_sched_await_room();
	return stream_create(handle, flags, priority);
}

static CUresult stream_destroy(CUstream handle)
{
	struct sim_stream **link;
	struct sim_stream *stream;

	if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	SIM_TRY(sim_stream_find(handle, false, &stream));
	link = &stream->ctx->streams;
	while (*link != stream)
		link = &(*link)->next;
	sim_capture_stream_gone(stream);
	*link = stream->next;
	sim_stream_end(stream);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle)
{
	SIM_ENTER(cuStreamDestroy);
	sim_sched_await_room();
	return stream_destroy(handle);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	SIM_ENTER(cuStreamDestroy_v2);
	sim_sched_await_room();
	return stream_destroy(handle);
}

/* What whoever asks or waits for the stream asks or waits for; owned by the caller. */
static unsigned stream_ends(struct sim_stream *stream, struct sim_point **ret_points)
{
	struct sim_point *points = malloc(sizeof(*points));
	unsigned count = 1;

	if (!points)
		abort();
	points[0] = stream->legacy ? sim_stream_tail(stream) : (struct sim_point){stream, stream->worked};
	for (struct sim_stream *other = stream->legacy ? busy_first : NULL; other; other = other->busy_next) {
		if (!stream_takes_part(stream, other))
			continue;
		points = realloc(points, (count + 1) * sizeof(*points));
		if (!points)
			abort();
		points[count++] = sim_stream_tail(other);
	}
	*ret_points = points;
	return count;
}

SIM_TWIN(cuStreamQuery, _ptsz, (CUstream handle), (handle))
{
	struct sim_stream *stream;
	struct sim_point *ends;
	unsigned count, reached = 0;
	bool idle;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	count = stream_ends(stream, &ends);
	while (reached < count && sim_point_reached(ends[reached]))
		reached++;
	idle = reached == count;
	sim_sched_nudge(ends[idle ? 0 : reached]);
	free(ends);
	return idle ? stream->ctx->sticky : CUDA_ERROR_NOT_READY;
}

SIM_TWIN(cuStreamSynchronize, _ptsz, (CUstream handle), (handle))
{
	struct sim_stream *stream;
	struct sim_point *ends;
	struct sim_ctx *ctx;
	unsigned count;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	ctx = stream->ctx;
	count = stream_ends(stream, &ends);
	sim_sched_reach_all(ends, count);
	free(ends);
	sim_sched_finish_records(stream);
	sim_pool_settle();
	return ctx->sticky;
}

SIM_TWIN(cuStreamWaitEvent, _ptsz, (CUstream handle, CUevent event, unsigned flags), (handle, event, flags))
{
	struct sim_stream *stream;
	bool captured;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (!sim_handle_is(event, SIM_KIND_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags > CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_WAIT_EXTERNAL) {
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

		return stream->capture ? sim_capture_add(stream, &params) : CUDA_ERROR_INVALID_VALUE;
	} else {
		SIM_TRY(sim_event_capture_wait((struct sim_event *)event, stream, &captured));
		if (captured)
			return CUDA_SUCCESS;
	}
	sim_stream_submit(stream, sim_event_wait_op((struct sim_event *)event));
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long *id), (handle, id))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = stream->id;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext *ctx), (handle, ctx))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = (CUcontext)stream->ctx;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetCtx_v2, _ptsz, (CUstream handle, CUcontext *ctx, CUgreenCtx *green), (handle, ctx, green))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!ctx || !green)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = (CUcontext)stream->ctx;
	*green = NULL;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice *device), (handle, device))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = stream->ctx->device->ordinal;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned *flags), (handle, flags))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	SIM_TRY(sim_capture_ask_stream(stream));
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = stream->flags;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetPriority, _ptsz, (CUstream handle, int *priority), (handle, priority))
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	*priority = stream->priority;
	return CUDA_SUCCESS;
}
