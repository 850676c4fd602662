/* Captures: see sim_capture.h. A fork is joined when everything at the place of each stream that was pulled in comes
 * before the place of the origin. */
#include "tests/sim/cuda/sim_capture.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_graph.h"
#include "tests/sim/cuda/sim_sched.h"

struct sim_capture {
	uint64_t id;
	CUstreamCaptureMode mode;
	const char *thread;	    /* that began it: the address of its `self` */
	struct sim_stream *origin;  /* NULL = over */
	struct sim_stream *streams; /* that take part, of any context; through ->capture_next */
	struct sim_graph *graph;
	bool own_graph; /* made for this capture */
	bool invalid;
	unsigned refs;		  /* one while open, one an event */
	struct sim_capture *next; /* of the open ones */
};

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static __thread char self;
static struct sim_capture *open_captures;
static uint64_t next_id = 1;

bool sim_capture_into(const struct sim_graph *graph)
{
	const struct sim_capture *capture = open_captures;

	while (capture && capture->graph != graph)
		capture = capture->next;
	return capture != NULL;
}

struct sim_capture *sim_capture_get(struct sim_capture *capture)
{
	capture->refs++;
	return capture;
}

void sim_capture_put(struct sim_capture *capture)
{
	if (--capture->refs == 0)
		free(capture);
}

static void stream_join(struct sim_stream *stream, struct sim_capture *capture)
{
	if (stream->capture)
		return;
	stream->capture = capture;
	stream->capture_next = capture->streams;
	capture->streams = stream;
}

static void stream_leave(struct sim_stream *stream)
{
	struct sim_stream **link = &stream->capture->streams;

	while (*link != stream)
		link = &(*link)->capture_next;
	*link = stream->capture_next;
	stream->capture = NULL;
	sim_place_clear(&stream->place);
}

/* The capture is over; its graph is the caller's. */
static struct sim_graph *capture_close(struct sim_capture *capture)
{
	struct sim_capture **link = &open_captures;
	struct sim_graph *graph = capture->graph;

	while (capture->streams)
		stream_leave(capture->streams);
	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	capture->origin = NULL;
	capture->graph = NULL;
	sim_capture_put(capture);
	return graph;
}

static void capture_abandon(struct sim_capture *capture)
{
	bool own_graph = capture->own_graph;
	struct sim_graph *graph = capture_close(capture);

	if (own_graph)
		sim_graph_free(graph);
}

static CUresult capture_break(struct sim_capture *capture, CUresult result)
{
	capture->invalid = true;
	return result;
}

/* --- What the rest of the driver asks */

bool sim_capture_began_on(const struct sim_stream *stream)
{
	return stream->capture && stream->capture->origin == stream;
}

/* Blocking streams of the context that capture forbid the use of its legacy stream. */
static bool legacy_conflicts(const struct sim_stream *legacy, bool invalidate)
{
	bool conflicts = false;

	for (struct sim_stream *stream = legacy->ctx->streams; stream; stream = stream->next) {
		if (!stream->capture || stream->flags & CU_STREAM_NON_BLOCKING)
			continue;
		conflicts = true;
		if (invalidate)
			stream->capture->invalid = true;
	}
	return conflicts;
}

static CUresult find_stream(CUstream handle, bool per_thread, struct sim_stream **ret_stream)
{
	SIM_TRY(sim_stream_find(handle, per_thread, ret_stream));
	if ((*ret_stream)->legacy && legacy_conflicts(*ret_stream, true))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if ((*ret_stream)->capture && (*ret_stream)->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return CUDA_SUCCESS;
}

/* While it waits for room the stream may begin a capture or go away. */
CUresult sim_capture_find_stream(CUstream handle, bool per_thread, struct sim_stream **ret_stream)
{
	for (;;) {
		struct sim_stream *stream;

		SIM_TRY(find_stream(handle, per_thread, &stream));
		*ret_stream = stream;
		if (stream->capture || stream->submitted - stream->completed < sim_conf()->queue)
			return CUDA_SUCCESS;
		if (!sim_sched_make_room(stream))
			return CUDA_SUCCESS;
	}
}

static bool forbids(const struct sim_capture *capture)
{
	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->invalid ||
	    capture->origin->ctx->sticky != CUDA_SUCCESS)
		return false;
	if (capture->thread == &self)
		return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	for (struct sim_capture *capture = open_captures; capture; capture = capture->next) {
		if (forbids(capture))
			result = capture_break(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	return result;
}

CUresult sim_capture_ask_stream(const struct sim_stream *stream)
{
	if (stream->legacy && legacy_conflicts(stream, true))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return stream->capture ? capture_break(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
}

CUresult sim_capture_ask_ctx(const struct sim_ctx *ctx)
{
	CUresult result = CUDA_SUCCESS;

	for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next) {
		if (stream->capture)
			result = capture_break(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	return result;
}

CUresult sim_capture_ask_event(struct sim_capture *capture)
{
	return capture ? capture_break(capture, CUDA_ERROR_CAPTURED_EVENT) : CUDA_SUCCESS;
}

CUresult sim_capture_wait(struct sim_stream *stream, struct sim_capture *recorded, const struct sim_place *place,
			  bool *ret_captured)
{
	struct sim_capture *capture = stream->capture;

	*ret_captured = recorded || capture;
	if (!recorded)
		return capture ? capture_break(capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION) : CUDA_SUCCESS;
	if (!recorded->origin)
		return CUDA_ERROR_INVALID_VALUE;
	if (recorded->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (capture && capture != recorded) {
		capture->invalid = true;
		return capture_break(recorded, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (stream->legacy)
		return capture_break(recorded, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	stream_join(stream, recorded);
	sim_place_add(&stream->place, place);
	return CUDA_SUCCESS;
}

CUresult sim_capture_add(struct sim_stream *stream, CUgraphNodeParams *params)
{
	struct sim_node *node;

	SIM_TRY(sim_graph_add(stream->capture->graph, (CUgraphNode *)stream->place.nodes, stream->place.count, params,
			      stream->ctx, &node));
	node->priority = stream->priority;
	sim_place_set(&stream->place, node);
	return CUDA_SUCCESS;
}

CUresult sim_capture_alloc(struct sim_stream *stream, size_t size_bytes, CUdeviceptr *ret_pointer)
{
	CUgraphNodeParams params = {
	    .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
	    .alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, stream->ctx->device->ordinal}},
		      .bytesize = size_bytes}};

	if (!ret_pointer)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_capture_add(stream, &params));
	*ret_pointer = params.alloc.dptr;
	return CUDA_SUCCESS;
}

CUresult sim_capture_free(struct sim_stream *stream, CUdeviceptr pointer)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {pointer}};

	return sim_capture_add(stream, &params);
}

void sim_capture_stream_gone(struct sim_stream *stream)
{
	if (!stream->capture)
		return;
	if (sim_capture_began_on(stream)) {
		capture_abandon(stream->capture);
	} else {
		stream->capture->invalid = true;
		stream_leave(stream);
	}
}

void sim_capture_forget(const struct sim_ctx *ctx)
{
	for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
		sim_capture_stream_gone(stream);
}

/* --- Begin and end */

static CUresult capture_begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode, struct sim_graph *graph,
			      const struct sim_place *place)
{
	struct sim_capture *capture;
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		abort();
	*capture = (struct sim_capture){
	    .id = next_id++,
	    .mode = mode,
	    .thread = &self,
	    .origin = stream,
	    .graph = graph ? graph : sim_graph_new(false),
	    .own_graph = !graph,
	    .refs = 1,
	    .next = open_captures,
	};
	open_captures = capture;
	stream_join(stream, capture);
	if (place)
		sim_place_add(&stream->place, place);
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamBeginCapture, _ptsz, (CUstream handle), (handle))
{
	return capture_begin(handle, per_thread, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL);
}

SIM_TWIN(cuStreamBeginCapture_v2, _ptsz, (CUstream handle, CUstreamCaptureMode mode), (handle, mode))
{
	return capture_begin(handle, per_thread, mode, NULL, NULL);
}

SIM_TWIN(cuStreamBeginCaptureToGraph, _ptsz,
	 (CUstream handle, CUgraph graph_handle, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
	  size_t count, CUstreamCaptureMode mode),
	 (handle, graph_handle, dependencies, edges, count, mode))
{
	struct sim_graph *graph;
	struct sim_place place;

	(void)edges;
	SIM_TRY(sim_graph_find(graph_handle, &graph));
	SIM_TRY(sim_place_given(graph, dependencies, count, &place));
	return capture_begin(handle, per_thread, mode, graph, &place);
}

static bool unjoined(const struct sim_capture *capture)
{
	for (struct sim_stream *stream = capture->streams; stream; stream = stream->capture_next) {
		if (!sim_place_covers(&capture->origin->place, &stream->place))
			return true;
	}
	return false;
}

SIM_TWIN(cuStreamEndCapture, _ptsz, (CUstream handle, CUgraph *graph), (handle, graph))
{
	struct sim_capture *capture;
	struct sim_stream *stream;
	CUresult result = CUDA_SUCCESS;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	capture = stream->capture;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return capture_break(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != &self)
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else if (capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (unjoined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (graph)
		*graph = NULL;
	if (result == CUDA_SUCCESS && graph)
		*graph = (CUgraph)capture_close(capture);
	else
		capture_abandon(capture);
	return result;
}

/* --- Status */

static CUresult capture_status(CUstream handle, bool per_thread, CUstreamCaptureStatus *status, cuuint64_t *id,
			       CUgraph *graph)
{
	struct sim_stream *stream;

	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy && legacy_conflicts(stream, false))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream->capture)
		return CUDA_SUCCESS;
	*status = stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = (CUgraph)stream->capture->graph;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamIsCapturing, _ptsz, (CUstream handle, CUstreamCaptureStatus *status), (handle, status))
{
	return capture_status(handle, per_thread, status, NULL, NULL);
}

SIM_TWIN(cuStreamGetCaptureInfo, _ptsz, (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id),
	 (handle, status, id))
{
	return capture_status(handle, per_thread, status, id, NULL);
}

static CUresult capture_info(CUstream handle, bool per_thread, CUstreamCaptureStatus *status, cuuint64_t *id,
			     CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
	struct sim_stream *stream;

	SIM_TRY(capture_status(handle, per_thread, status, id, graph));
	SIM_TRY(sim_stream_find(handle, per_thread, &stream));
	if (!stream->capture)
		return CUDA_SUCCESS;
	if (dependencies)
		*dependencies = (const CUgraphNode *)stream->place.nodes;
	if (count)
		*count = stream->place.count;
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamGetCaptureInfo_v2, _ptsz,
	 (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	  const CUgraphNode **dependencies, size_t *count),
	 (handle, status, id, graph, dependencies, count))
{
	return capture_info(handle, per_thread, status, id, graph, dependencies, count);
}

SIM_TWIN(cuStreamGetCaptureInfo_v3, _ptsz,
	 (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	  const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count),
	 (handle, status, id, graph, dependencies, edges, count))
{
	if (edges)
		*edges = NULL;
	return capture_info(handle, per_thread, status, id, graph, dependencies, count);
}

static CUresult capture_update(CUstream handle, bool per_thread, const CUgraphNode *dependencies, size_t count,
			       unsigned flags)
{
	struct sim_stream *stream;
	struct sim_place place;

	SIM_TRY(sim_capture_find_stream(handle, per_thread, &stream));
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_place_given(stream->capture->graph, dependencies, count, &place));
	if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) {
		sim_place_add(&stream->place, &place);
	} else {
		place = sim_place_copy(&place); /* may be the stream's own: cuStreamGetCaptureInfo tells it */
		sim_place_clear(&stream->place);
		stream->place = place;
	}
	return CUDA_SUCCESS;
}

SIM_TWIN(cuStreamUpdateCaptureDependencies, _ptsz,
	 (CUstream handle, CUgraphNode *dependencies, size_t count, unsigned flags),
	 (handle, dependencies, count, flags))
{
	return capture_update(handle, per_thread, dependencies, count, flags);
}

SIM_TWIN(cuStreamUpdateCaptureDependencies_v2, _ptsz,
	 (CUstream handle, CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t count, unsigned flags),
	 (handle, dependencies, edges, count, flags))
{
	(void)edges;
	return capture_update(handle, per_thread, dependencies, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode previous = thread_mode;

	SIM_ENTER(cuThreadExchangeStreamCaptureMode);
	SIM_TRY(sim_ready());
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}
