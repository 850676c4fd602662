/* Host functions in streams: cuLaunchHostFunc and cuStreamAddCallback. They run on the thread that forces the stream,
 * with the baton given away, so that other threads can use the driver meanwhile. */
#include "tests/sim/cuda/sim_stream.h"

struct host_call {
	CUhostFn function;          /* one of the two */
	CUstreamCallback callback;
	CUstream handle;            /* as the program gave it */
	struct sim_ctx *ctx;
	void *data;
};

static void host_run(struct sim_op *op)
{
	const struct host_call *call = (const struct host_call *)op->payload;

	if (call->callback)
		call->callback(call->handle, call->ctx->sticky, call->data);
	else if (call->ctx->sticky == CUDA_SUCCESS)
		call->function(call->data);
}

static CUresult host_submit(struct host_call call, bool per_thread)
{
	struct sim_stream *stream;
	struct sim_op *op;

	SIM_TRY(sim_stream_find(call.handle, per_thread, &stream));
	if (!call.function && !call.callback)
		return CUDA_ERROR_INVALID_VALUE;
	op = sim_op_new(SIM_OP_HOST, sizeof(call));
	call.ctx = stream->ctx;
	*(struct host_call *)op->payload = call;
	op->run = host_run;
	op->host_code = true;
	sim_stream_submit(stream, op);
	return CUDA_SUCCESS;
}

SIM_TWIN(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void *data), (stream, function, data))
{
	return host_submit((struct host_call){.function = function, .handle = stream, .data = data}, per_thread);
}

SIM_TWIN(cuStreamAddCallback, _ptsz, (CUstream stream, CUstreamCallback callback, void *data, unsigned flags),
	 (stream, callback, data, flags))
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return host_submit((struct host_call){.callback = callback, .handle = stream, .data = data}, per_thread);
}
