/* Host functions in streams: cuLaunchHostFunc and cuStreamAddCallback.
 *
 * They run on a thread of their own, as the driver's do, made at the first submission. A thread inside the driver may
 * hold locks of the program that a host function needs, so none ever runs one itself; only a call that must wait for
 * the stream waits for it.
 *
 * The same thread runs what is queued when the program has made no driver call for a while (SIM_IDLE_MS): a program
 * may wait for its work by other means, on a variable that a host function sets or a copy writes. */
#include "tests/sim/cuda/sim_host.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_stream.h"
#include "tests/sim/cuda/sim_thread.h"
#include "tests/sim/cuda/sim_tsan.h"

static struct sim_stream *due; /* whose head host function shall run next; NULL = none */

struct host_call {
	CUhostFn function; /* one of the two */
	CUstreamCallback callback;
	CUstream handle; /* as the program gave it */
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

static void host_call(struct sim_stream *stream)
{
	sim_tsan_after(stream->head);
	sim_baton_give();
	stream->head->run(stream->head);
	sim_baton_take();
	sim_tsan_before(stream);
	due = NULL;
	stream->running = false;
	sim_stream_complete(stream);
	sim_baton_signal();
}

/* Functions that belong to no stream, in order. */
struct deferred {
	CUhostFn function;
	void *data;
	struct deferred *next;
};

static struct deferred *deferred_first;

void sim_host_defer(CUhostFn function, void *data)
{
	struct deferred **end = &deferred_first;
	struct deferred *made = calloc(1, sizeof(*made));

	if (!made)
		abort();
	*made = (struct deferred){function, data, NULL};
	while (*end)
		end = &(*end)->next;
	*end = made;
	sim_host_start();
	sim_baton_signal();
}

static void deferred_call(void)
{
	struct deferred *first = deferred_first;

	deferred_first = first->next;
	sim_baton_give();
	first->function(first->data);
	sim_baton_take();
	free(first);
}

static void *host_thread(void *unused)
{
	unsigned long calls = 0;

	sim_thread_serve();
	sim_baton_take();
	for (;;) {
		if (due) {
			host_call(due);
		} else if (deferred_first) {
			deferred_call();
		} else if (sim_conf()->idle_ms == 0) {
			sim_baton_wait();
		} else {
			sim_baton_wait_for(sim_conf()->idle_ms);
			if (!due && !deferred_first && calls == sim_calls_total())
				sim_sched_run_ready();
			calls = sim_calls_total();
		}
	}
	return unused;
}

/* Signals of the program go to its own threads. */
void sim_host_start(void)
{
	static bool started;
	sigset_t all, before;
	pthread_t thread;

	if (started)
		return;
	started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, host_thread, NULL) != 0)
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool sim_host_begin(struct sim_stream *stream)
{
	if (due)
		return false;
	stream->running = true;
	due = stream;
	sim_baton_signal();
	return true;
}

static struct sim_op *host_op(struct host_call call)
{
	struct sim_op *op = sim_op_new(SIM_OP_HOST, sizeof(call));

	*(struct host_call *)op->payload = call;
	op->run = host_run;
	op->host_code = true;
	return op;
}

struct sim_op *sim_host_op(CUhostFn function, void *data, struct sim_ctx *ctx)
{
	return host_op((struct host_call){.function = function, .ctx = ctx, .data = data});
}

static CUresult host_submit(struct host_call call, bool per_thread)
{
	struct sim_stream *stream;

	SIM_TRY(sim_capture_find_stream(call.handle, per_thread, &stream));
	if (!call.function && !call.callback)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture) {
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {call.function, call.data}};

		return call.callback ? sim_capture_ask_stream(stream) : sim_capture_add(stream, &params);
	}
	call.ctx = stream->ctx;
	sim_stream_submit(stream, host_op(call));
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
