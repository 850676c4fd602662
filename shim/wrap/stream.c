/* Streams and captures, as far as memory depends on them (H6, H9). */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/submit/submit.h"
#include "shim/watch/launch.h"
#include "shim/watch/note.h"
#include "shim/watch/sample.h"

CUresult gs_on_cuStreamCreate(struct gs_call *call, PFN_cuStreamCreate_v2000 real, CUstream *phStream,
			      unsigned int Flags)
{
	(void)call;
	if ((Flags & CU_STREAM_NON_BLOCKING) == 0)
		gs_sample_blocking_stream();
	return real(phStream, Flags);
}

CUresult gs_on_cuStreamCreateWithPriority(struct gs_call *call, PFN_cuStreamCreateWithPriority_v5050 real,
					  CUstream *phStream, unsigned int flags, int priority)
{
	(void)call;
	if ((flags & CU_STREAM_NON_BLOCKING) == 0)
		gs_sample_blocking_stream();
	return real(phStream, flags, priority);
}

/* Before the handle dies: memory that was freed on the stream must find its way to others. */
static void stream_ending(CUstream handle)
{
	struct gsa_stream stream;

	if (handle != NULL && gs_stream_resolve(handle, false, &stream))
		for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
			struct gs_device *device = gs_device_used(ordinal);

			if (device != NULL)
				gsa_stream_ending(device->allocator, &stream);
		}
	gs_order_stream_gone(handle);
	gs_stream_ends();
}

CUresult gs_on_cuStreamDestroy(struct gs_call *call, PFN_cuStreamDestroy_v2000 real, CUstream hStream)
{
	(void)call;
	stream_ending(hStream);
	return real(hStream);
}

CUresult gs_on_cuStreamDestroy_v2(struct gs_call *call, PFN_cuStreamDestroy_v4000 real, CUstream hStream)
{
	(void)call;
	stream_ending(hStream);
	return real(hStream);
}

CUresult gs_on_cuStreamSynchronize(struct gs_call *call, PFN_cuStreamSynchronize_v2000 real, CUstream hStream)
{
	struct gsa_stream stream;
	struct gs_device *device = gs_device_current(NULL);
	bool known = device != NULL && gs_stream_resolve(hStream, gs_fn_info[call->fn].per_thread, &stream);
	uint64_t before = known ? gsa_free_serial(device->allocator) : 0;
	uint64_t moment = call->start_ticks != 0 ? call->start_ticks : gs_ticks();
	CUresult result;

	gs_wait_for_stream(call, hStream);
	gs_submit_flush(); /* what was put off until `before` */
	result = real(hStream);
	if (result == CUDA_SUCCESS && known)
		gsa_stream_idle(device->allocator, stream.id, before);
	if (result == CUDA_SUCCESS)
		gs_launch_stream_done(call, hStream, moment);
	return result;
}

/* Nodes of graphs do not have what their stream has been given, but for the priority and how the host waits. */
CUresult gs_on_cuStreamSetAttribute(struct gs_call *call, PFN_cuStreamSetAttribute_v11000 real, CUstream hStream,
				    CUstreamAttrID attr, const CUstreamAttrValue_v1 *param)
{
	(void)call;
	if (attr != CU_LAUNCH_ATTRIBUTE_PRIORITY && attr != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
		gs_submit_end_graphs("a stream has attributes");
	return real(hStream, attr, param);
}

CUresult gs_on_cuStreamCopyAttributes(struct gs_call *call, PFN_cuStreamCopyAttributes_v11000 real, CUstream dstStream,
				      CUstream srcStream)
{
	(void)call;
	gs_submit_end_graphs("a stream has attributes");
	return real(dstStream, srcStream);
}

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
