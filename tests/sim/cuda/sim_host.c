/* Host functions in streams: cuLaunchHostFunc and cuStreamAddCallback.
 *
 * They run on a thread of their own, as the driver's do, made for the first one. A thread inside the driver may hold
 * locks of the program that a host function needs, so none ever runs one itself; only a call that must wait for the
 * stream waits for it. */
#include "tests/sim/cuda/sim_host.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/sim/cuda/sim_stream.h"

static struct sim_stream *due; /* whose head host function shall run next; NULL = none */

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

static void *host_thread(void *unused)
{
	sim_baton_take();
	for (;;) {
		struct sim_stream *stream = due;

		if (!stream) {
			sim_baton_wait();
			continue;
		}
		sim_baton_give();
		stream->head->run(stream->head);
		sim_baton_take();
		due = NULL;
		stream->running = false;
		sim_stream_complete(stream);
		sim_baton_signal();
	}
	return unused;
}

/* Signals of the program go to its own threads. */
static void host_thread_start(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, host_thread, NULL) != 0)
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool sim_host_begin(struct sim_stream *stream)
{
	static bool started;

	if (due)
		return false;
	if (!started)
		host_thread_start();
	started = true;
	stream->running = true;
	due = stream;
	sim_baton_signal();
	return true;
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
