/* Streams, as far as memory depends on them (H6). Their captures: capture.c. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/core/fences.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/submit/submit.h"
#include "shim/watch/launch.h"
#include "shim/watch/proven.h"

static CUresult stream_made(CUresult result, unsigned int flags)
{
	if (result == CUDA_SUCCESS && (flags & CU_STREAM_NON_BLOCKING) == 0)
		gs_order_note_blocking();
	return result;
}

CUresult gs_on_cuStreamCreate(struct gs_call *call, PFN_cuStreamCreate_v2000 real, CUstream *phStream, unsigned int Flags)
{
	(void)call;
	return stream_made(real(phStream, Flags), Flags);
}

CUresult gs_on_cuStreamCreateWithPriority(struct gs_call *call, PFN_cuStreamCreateWithPriority_v5050 real, CUstream *phStream,
					  unsigned int flags, int priority)
{
	(void)call;
	return stream_made(real(phStream, flags, priority), flags);
}

/* Before the handle dies: memory that was freed on the stream must find its way to others. What is freed by cudaFree later may
 * still be in use by the stream, and no event recorded then covers that: cudaFree waits, as the driver's own does. */
static void stream_ending(CUstream handle)
{
	struct gsa_stream stream;

	if (handle != NULL && gs_stream_resolve(handle, false, &stream)) {
		gs_fence_command_ends(stream.id);
		gs_proven_stream_ends(stream.id);
		for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
			struct gs_device *device = gs_device_used(ordinal);

			if (device != NULL)
				gsa_stream_ending(device->allocator, &stream);
		}
	}
	gs_order_note_to_host();
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

/* The device has work to do until the driver returns, and none from then until the program gives it more: what can be found out
 * before is. */
CUresult gs_on_cuStreamSynchronize(struct gs_call *call, PFN_cuStreamSynchronize_v2000 real, CUstream hStream)
{
	struct gs_work_stream work;
	struct gsa_stream stream;
	struct gs_device *device = gs_device_current(NULL);
	bool known = device != NULL && gs_stream_resolve(hStream, gs_fn_info[call->fn].per_thread, &stream);
	uint64_t freed_before = known ? gsa_stream_serial(device->allocator, stream.id) : 0;
	uint64_t before = gs_call_moment(call);
	bool watched = gs_launch_stream(call, hStream, &work);
	CUresult result;

	if (watched)
		gs_wait_for_stream(call, &work);
	gs_submit_flush(); /* what was put off until `before` */
	result = real(hStream);
	if (result == CUDA_SUCCESS && known && gs_fence_commands())
		result = gs_fence_command_wait(&stream);
	if (result == CUDA_SUCCESS && freed_before != 0)
		gsa_stream_idle(device->allocator, stream.id, freed_before);
	if (result == CUDA_SUCCESS && watched)
		gs_launch_stream_done(&work, before);
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
