/* Captures of streams, as far as memory depends on them (H9). */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/conf.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/watch/note.h"

/* By the name that order.h wants. */
static CUstream captured_stream(const struct gs_call *call, CUstream handle)
{
	return handle == NULL && gs_fn_info[call->fn].per_thread ? CU_STREAM_PER_THREAD : handle;
}

/* stream_id: found out before the capture began, for then it can be asked. */
static CUresult capture_begun(const struct gs_call *call, CUstream stream, uint64_t stream_id, CUresult result)
{
	if (result != CUDA_SUCCESS)
		gs_order_capture_ended(stream);
	else
		gs_note_event(call, GS_EVENT_CAPTURE_BEGIN, 0, stream_id);
	return result;
}

static uint64_t id_of(CUstream handle)
{
	struct gsa_stream stream;

	return gs_conf.history != 0 && gs_stream_resolve(handle, false, &stream) ? stream.id : 0;
}

CUresult gs_on_cuStreamBeginCapture(struct gs_call *call, PFN_cuStreamBeginCapture_v10000 real, CUstream hStream)
{
	CUstream stream = captured_stream(call, hStream);
	uint64_t id = id_of(stream);

	gs_order_capture_begins(stream);
	return capture_begun(call, stream, id, real(hStream));
}

CUresult gs_on_cuStreamBeginCapture_v2(struct gs_call *call, PFN_cuStreamBeginCapture_v10010 real, CUstream hStream,
				       CUstreamCaptureMode mode)
{
	CUstream stream = captured_stream(call, hStream);
	uint64_t id = id_of(stream);

	gs_order_capture_begins(stream);
	return capture_begun(call, stream, id, real(hStream, mode));
}

CUresult gs_on_cuStreamBeginCaptureToGraph(struct gs_call *call, PFN_cuStreamBeginCaptureToGraph_v12030 real,
					   CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					   const CUgraphEdgeData *dependencyData, size_t numDependencies,
					   CUstreamCaptureMode mode)
{
	CUstream stream = captured_stream(call, hStream);
	uint64_t id = id_of(stream);

	gs_order_capture_begins(stream);
	return capture_begun(call, stream, id, real(hStream, hGraph, dependencies, dependencyData, numDependencies, mode));
}

/* A failure may end the capture (it was invalidated, a fork was not joined, it is another thread's) or not (another
 * stream is its origin): the driver knows what the stream does now. */
CUresult gs_on_cuStreamEndCapture(struct gs_call *call, PFN_cuStreamEndCapture_v10000 real, CUstream hStream,
				  CUgraph *phGraph)
{
	CUstream stream = captured_stream(call, hStream);
	CUresult result = real(hStream, phGraph);

	if (result == CUDA_SUCCESS || !gs_order_stream_captures(stream))
		gs_order_capture_ended(stream);
	if (result == CUDA_SUCCESS)
		gs_note_event(call, GS_EVENT_CAPTURE_END, 0, id_of(stream));
	return result;
}
