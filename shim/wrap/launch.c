/* Launches and events, which may be put off (shim/submit/submit.h), and the waits and questions that show how far they have come: for
 * the launch log. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/fences.h"
#include "shim/core/order.h"
#include "shim/core/stream.h"
#include "shim/submit/event.h"
#include "shim/submit/submit.h"
#include "shim/watch/causal.h"
#include "shim/watch/hazard.h"
#include "shim/watch/launch.h"
#include "shim/watch/proven.h"
#include "shim/watch/sample.h"

/* --- launches ---------------------------------------------------------------------------------------------------- */

static inline CUresult launched(struct gs_call *call, enum gs_work_kind kind, const void *function, CUstream stream,
				CUresult result)
{
	gs_launch_note(call, kind, function, stream, result);
	return result;
}

static inline CUresult launched_with(struct gs_call *call, const void *function, CUstream stream, void *const *kernel_params,
				     void *const *extra, CUresult result)
{
	launched(call, GS_WORK_KERNEL, function, stream, result);
	if (__builtin_expect(gs_hazards, 0) && result == CUDA_SUCCESS)
		gs_hazard_kernel(function, kernel_params, extra);
	return result;
}

CUresult gs_on_cuLaunchKernel(struct gs_call *call, PFN_cuLaunchKernel_v4000 real, CUfunction f, unsigned int gridDimX,
			      unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
			      unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
			      CUstream hStream, void **kernelParams, void **extra)
{
	struct gs_submit_launch launch;
	CUlaunchConfig config;
	CUresult result = CUDA_SUCCESS;
	bool asked = false, put = false;

	gs_order_note_stream(hStream);
	if (!gs_submit_is_on()) {
		gs_submit_flush();
	} else if (!gs_submit_rests(call, hStream)) {
		config = (CUlaunchConfig){
			.gridDimX = gridDimX,
			.gridDimY = gridDimY,
			.gridDimZ = gridDimZ,
			.blockDimX = blockDimX,
			.blockDimY = blockDimY,
			.blockDimZ = blockDimZ,
			.sharedMemBytes = sharedMemBytes,
			.hStream = hStream,
		};
		launch = (struct gs_submit_launch){
			.config = &config,
			.function = f,
			.params = kernelParams,
			.extra = extra,
			.now = gs_sample_is_due(call),
		};
		put = gs_submit_launch(call, &launch);
		asked = true;
	}
	if (!put) {
		gs_sample_launch(call, hStream);
		result = real(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
			      kernelParams, extra);
		if (asked)
			gs_submit_launched(call, &launch, result);
	}
	return launched_with(call, f, hStream, kernelParams, extra, result);
}

/* Programmatic launches begin before the one ahead of them has ended: an event in between would keep them apart. */
static bool overlaps(const CUlaunchConfig *config)
{
	for (unsigned int i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
		    config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			return true;
	return false;
}

CUresult gs_on_cuLaunchKernelEx(struct gs_call *call, PFN_cuLaunchKernelEx_v11060 real, const CUlaunchConfig *config,
				CUfunction f, void **kernelParams, void **extra)
{
	bool sampled = config != NULL && !overlaps(config);
	struct gs_submit_launch launch;
	CUresult result = CUDA_SUCCESS;
	bool asked = false, put = false;

	if (config != NULL)
		gs_order_note_stream(config->hStream);
	if (!gs_submit_is_on()) {
		gs_submit_flush();
	} else if (config == NULL || !gs_submit_rests(call, config->hStream)) {
		launch = (struct gs_submit_launch){
			.config = config,
			.function = f,
			.params = kernelParams,
			.extra = extra,
			.now = sampled && gs_sample_is_due(call),
		};
		put = gs_submit_launch(call, &launch);
		asked = true;
	}
	if (!put) {
		if (sampled)
			gs_sample_launch(call, config->hStream);
		result = real(config, f, kernelParams, extra);
		if (asked)
			gs_submit_launched(call, &launch, result);
	}
	return launched_with(call, f, config != NULL ? config->hStream : NULL, kernelParams, extra, result);
}

CUresult gs_on_cuLaunchCooperativeKernel(struct gs_call *call, PFN_cuLaunchCooperativeKernel_v9000 real, CUfunction f,
					 unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
					 unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
					 unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
	gs_order_note_stream(hStream);
	gs_submit_flush();
	gs_sample_launch(call, hStream);
	return launched_with(call, f, hStream, kernelParams, NULL,
			     real(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
				  kernelParams));
}

CUresult gs_on_cuLaunchCooperativeKernelMultiDevice(struct gs_call *call,
						    PFN_cuLaunchCooperativeKernelMultiDevice_v9000 real,
						    CUDA_LAUNCH_PARAMS_v1 *launchParamsList, unsigned int numDevices,
						    unsigned int flags)
{
	CUresult result;

	for (unsigned int i = 0; launchParamsList != NULL && i < numDevices; i++)
		gs_order_note_stream(launchParamsList[i].hStream);
	gs_submit_flush();
	result = real(launchParamsList, numDevices, flags);
	for (unsigned int i = 0; result == CUDA_SUCCESS && i < numDevices; i++)
		gs_launch_note(call, GS_WORK_KERNEL, launchParamsList[i].function, launchParamsList[i].hStream, result);
	return result;
}

CUresult gs_on_cuLaunch(struct gs_call *call, PFN_cuLaunch_v2000 real, CUfunction f)
{
	gs_order_note_stream(NULL);
	gs_submit_flush();
	return launched(call, GS_WORK_KERNEL, f, NULL, real(f));
}

CUresult gs_on_cuLaunchGrid(struct gs_call *call, PFN_cuLaunchGrid_v2000 real, CUfunction f, int grid_width,
			    int grid_height)
{
	gs_order_note_stream(NULL);
	gs_submit_flush();
	return launched(call, GS_WORK_KERNEL, f, NULL, real(f, grid_width, grid_height));
}

CUresult gs_on_cuLaunchGridAsync(struct gs_call *call, PFN_cuLaunchGridAsync_v2000 real, CUfunction f, int grid_width,
				 int grid_height, CUstream hStream)
{
	gs_order_note_stream(hStream);
	gs_submit_flush();
	return launched(call, GS_WORK_KERNEL, f, hStream, real(f, grid_width, grid_height, hStream));
}

CUresult gs_on_cuGraphLaunch(struct gs_call *call, PFN_cuGraphLaunch_v10000 real, CUgraphExec hGraph, CUstream hStream)
{
	gs_sample_launch(call, hStream);
	return launched(call, GS_WORK_GRAPH, NULL, hStream, real(hGraph, hStream));
}

/* --- waits and questions ----------------------------------------------------------------------------------------- */

CUresult gs_on_cuStreamQuery(struct gs_call *call, PFN_cuStreamQuery_v2000 real, CUstream hStream)
{
	uint64_t before = gs_call_moment(call);
	struct gs_work_stream work;
	struct gsa_stream stream;
	CUresult result = real(hStream);

	if (result == CUDA_SUCCESS && gs_fence_commands() && gs_stream_resolve(hStream, gs_fn_info[call->fn].per_thread, &stream))
		result = gs_fence_command_query(&stream);
	if (result == CUDA_SUCCESS && gs_launch_stream(call, hStream, &work))
		gs_launch_stream_done(&work, before);
	return result;
}

static void event_done(CUevent event, uint64_t before)
{
	gs_proven_event_done(event);
	if (gs_hazards)
		gs_causal_event_done(event, before);
}

CUresult gs_on_cuEventQuery(struct gs_call *call, PFN_cuEventQuery_v2000 real, CUevent hEvent)
{
	uint64_t before = gs_hazards ? gs_ticks() : 0;
	CUresult result = real(hEvent);

	(void)call;
	if (result == CUDA_SUCCESS)
		event_done(hEvent, before);
	return result;
}

CUresult gs_on_cuEventSynchronize(struct gs_call *call, PFN_cuEventSynchronize_v2000 real, CUevent hEvent)
{
	uint64_t before = gs_hazards ? gs_ticks() : 0;
	CUresult result;

	gs_wait_for_event(call, hEvent);
	result = real(hEvent);
	if (result == CUDA_SUCCESS)
		event_done(hEvent, before);
	return result;
}

static void recorded(CUevent event, const struct gs_work_stream *stream, uint64_t before)
{
	gs_proven_event_recorded(event, stream, before);
	if (gs_hazards)
		gs_causal_recorded(event, stream, before);
}

static CUresult event_recorded(const struct gs_call *call, CUevent event, CUstream handle, uint64_t before,
			       CUresult result)
{
	struct gs_work_stream stream;

	if (result == CUDA_SUCCESS && gs_launch_stream(call, handle, &stream))
		recorded(event, &stream, before);
	return result;
}

CUresult gs_on_cuEventCreate(struct gs_call *call, PFN_cuEventCreate_v2000 real, CUevent *phEvent, unsigned int Flags)
{
	CUresult result = real(phEvent, Flags);

	(void)call;
	if (result == CUDA_SUCCESS && gs_submit_is_on())
		gs_submit_event_made(*phEvent, Flags);
	return result;
}

CUresult gs_on_cuEventRecord(struct gs_call *call, PFN_cuEventRecord_v2000 real, CUevent hEvent, CUstream hStream)
{
	struct gs_submit_work work = {.kind = GS_SUBMIT_RECORD, .stream = hStream, .event = hEvent};
	uint64_t before = gs_call_moment(call);
	CUresult result = CUDA_SUCCESS;

	if (!gs_submit_work(call, &work)) {
		result = real(hEvent, hStream);
		gs_submit_worked(call, &work, result);
	}
	return event_recorded(call, hEvent, hStream, before, result);
}

CUresult gs_on_cuEventRecordWithFlags(struct gs_call *call, PFN_cuEventRecordWithFlags_v11010 real, CUevent hEvent,
				      CUstream hStream, unsigned int flags)
{
	struct gs_submit_work work = {
		.kind = flags == 0 ? GS_SUBMIT_RECORD : GS_SUBMIT_NOTHING,
		.stream = hStream,
		.event = hEvent,
	};
	uint64_t before = gs_call_moment(call);
	CUresult result = CUDA_SUCCESS;

	if (gs_hazards && (flags & CU_EVENT_RECORD_EXTERNAL) != 0)
		gs_causal_distrust_events();
	if (!gs_submit_work(call, &work)) {
		result = real(hEvent, hStream, flags);
		gs_submit_worked(call, &work, result);
	}
	return event_recorded(call, hEvent, hStream, before, result);
}

static void event_gone(CUevent event)
{
	gs_proven_event_gone(event);
	if (gs_submit_is_on())
		gs_submit_event_gone(event);
	if (gs_hazards)
		gs_causal_event_gone(event);
}

CUresult gs_on_cuEventDestroy(struct gs_call *call, PFN_cuEventDestroy_v2000 real, CUevent hEvent)
{
	(void)call;
	event_gone(hEvent);
	return real(hEvent);
}

CUresult gs_on_cuEventDestroy_v2(struct gs_call *call, PFN_cuEventDestroy_v4000 real, CUevent hEvent)
{
	(void)call;
	event_gone(hEvent);
	return real(hEvent);
}

CUresult gs_on_cuStreamWaitEvent(struct gs_call *call, PFN_cuStreamWaitEvent_v3020 real, CUstream hStream,
				 CUevent hEvent, unsigned int Flags)
{
	struct gs_submit_work work = {
		.kind = Flags == 0 ? GS_SUBMIT_WAIT : GS_SUBMIT_NOTHING,
		.stream = hStream,
		.event = hEvent,
	};
	CUresult result = CUDA_SUCCESS;
	struct gs_work_stream stream;

	if (!gs_submit_work(call, &work)) {
		result = real(hStream, hEvent, Flags);
		gs_submit_worked(call, &work, result);
	}
	if (result == CUDA_SUCCESS && gs_launch_stream(call, hStream, &stream)) {
		uint64_t now = gs_ticks();

		gs_proven_stream_waits(&stream, hEvent, now);
		gs_proven_submitted(&stream, now);
		if (gs_hazards)
			gs_causal_waits(&stream, hEvent, now);
	}
	return result;
}

CUresult gs_on_cuEventElapsedTime(struct gs_call *call, PFN_cuEventElapsedTime_v2000 real, float *pMilliseconds,
				  CUevent hStart, CUevent hEnd)
{
	(void)call;
	gs_wait_timed();
	return real(pMilliseconds, hStart, hEnd);
}

#if CUDA_VERSION >= 12080
CUresult gs_on_cuEventElapsedTime_v2(struct gs_call *call, PFN_cuEventElapsedTime_v12080 real, float *pMilliseconds,
				     CUevent hStart, CUevent hEnd)
{
	(void)call;
	gs_wait_timed();
	return real(pMilliseconds, hStart, hEnd);
}
#endif

/* --- how kernels run --------------------------------------------------------------------------------------------- */

CUresult gs_on_cuFuncSetAttribute(struct gs_call *call, PFN_cuFuncSetAttribute_v9000 real, CUfunction hfunc,
				  CUfunction_attribute attrib, int value)
{
	const struct gs_attribute attribute = {.function = hfunc, .attribute = attrib, .device = GS_NO_DEVICE};
	bool stays = gs_submit_attribute_stays(&attribute, value);
	CUresult result = real(hfunc, attrib, value);

	(void)call;
	if (result == CUDA_SUCCESS && !stays)
		gs_submit_attribute_set(&attribute, value);
	return result;
}

CUresult gs_on_cuKernelSetAttribute(struct gs_call *call, PFN_cuKernelSetAttribute_v12000 real,
				    CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	const struct gs_attribute attribute = {.function = kernel, .attribute = attrib, .device = dev};
	bool stays = gs_submit_attribute_stays(&attribute, val);
	CUresult result = real(attrib, val, kernel, dev);

	(void)call;
	if (result == CUDA_SUCCESS && !stays)
		gs_submit_attribute_set(&attribute, val);
	return result;
}

/* --- code -------------------------------------------------------------------------------------------------------- */

CUresult gs_on_cuModuleUnload(struct gs_call *call, PFN_cuModuleUnload_v2000 real, CUmodule hmod)
{
	CUresult result;

	(void)call;
	gs_submit_drop_graphs();
	result = real(hmod);
	gs_launch_code_gone();
	gs_submit_code_gone();
	return result;
}

CUresult gs_on_cuLibraryUnload(struct gs_call *call, PFN_cuLibraryUnload_v12000 real, CUlibrary library)
{
	CUresult result;

	(void)call;
	gs_submit_drop_graphs();
	result = real(library);
	gs_launch_code_gone();
	gs_submit_code_gone();
	return result;
}
