/* Work on several streams, some of it known to be done, then a kernel that fails, and a call that notices. Words say
 * what is done before the failing launch:
 *     stream, query, event, context, copy, wait    what shows that the innocent work is done (none: nothing does)
 *     reuse      a stream with innocent work is destroyed; a new one, maybe with its handle, is waited for
 *     unload     the module is unloaded and loaded again before the failing launch
 *     many=N     N innocent launches at one place behind the failing one
 *     capture    innocent launches are captured and never run
 *     graph      the failing kernel is launched as part of a graph
 *     code=N     the error (700)
 * The innocent kernels are sim_delay, the failing one is sim_fail. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(call) need_(call, #call)

static CUmodule module;
static CUfunction good, bad;
static unsigned code = 700, steps = 1, zero;
static CUstream main_stream, side;

static void need_(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, result);
	exit(9);
}

static void load(void)
{
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&good, module, "sim_delay"));
	NEED(cuModuleGetFunction(&bad, module, "sim_fail"));
}

static void launch(CUfunction function, unsigned *word, CUstream stream)
{
	void *params[] = {word};

	NEED(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void innocent(int count, CUstream stream)
{
	for (int i = 0; i < count; i++)
		launch(good, &steps, stream);
}

static void shown_done(const char *how)
{
	CUdeviceptr memory;
	CUevent event;
	unsigned word;

	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	if (!strcmp(how, "stream")) {
		NEED(cuStreamSynchronize(main_stream));
		NEED(cuStreamSynchronize(side));
	} else if (!strcmp(how, "query")) {
		while (cuStreamQuery(main_stream) != CUDA_SUCCESS || cuStreamQuery(side) != CUDA_SUCCESS)
			;
	} else if (!strcmp(how, "event")) {
		NEED(cuEventRecord(event, main_stream));
		NEED(cuEventSynchronize(event));
		NEED(cuEventRecord(event, side));
		while (cuEventQuery(event) != CUDA_SUCCESS)
			;
	} else if (!strcmp(how, "context")) {
		NEED(cuCtxSynchronize());
	} else if (!strcmp(how, "copy")) {
		NEED(cuMemAlloc(&memory, 4));
		NEED(cuMemcpyDtoH(&word, memory, 4));
	} else if (!strcmp(how, "wait")) {
		NEED(cuEventRecord(event, side));
		NEED(cuStreamWaitEvent(main_stream, event, 0));
		NEED(cuStreamSynchronize(main_stream));
	} else if (!strcmp(how, "unload")) {
		NEED(cuModuleUnload(module));
		load();
	} else if (!strcmp(how, "reuse")) {
		NEED(cuStreamDestroy(side));
		NEED(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
		NEED(cuStreamSynchronize(side));
	}
}

static void captured(void)
{
	CUgraph graph;

	NEED(cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_RELAXED));
	innocent(3, side);
	NEED(cuStreamEndCapture(side, &graph));
}

static void fail_in_graph(void)
{
	CUgraphExec exec;
	CUgraph graph;

	NEED(cuStreamBeginCapture(main_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(bad, &code, main_stream);
	NEED(cuStreamEndCapture(main_stream, &graph));
	NEED(cuGraphInstantiate(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, main_stream));
}

int main(int count, char **words)
{
	int many = 0, graph = 0;
	unsigned flags = CU_STREAM_NON_BLOCKING;
	CUdeviceptr memory;
	CUcontext context;

	for (int i = 1; i < count; i++)
		flags = strcmp(words[i], "copy") == 0 ? CU_STREAM_DEFAULT : flags;
	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	load();
	NEED(cuStreamCreate(&main_stream, flags));
	NEED(cuStreamCreate(&side, flags));
	launch(bad, &zero, main_stream);
	innocent(4, main_stream);
	innocent(2, side);
	for (int i = 1; i < count; i++) {
		shown_done(words[i]);
		if (!strcmp(words[i], "capture"))
			captured();
		sscanf(words[i], "many=%d", &many);
		sscanf(words[i], "code=%u", &code);
		graph |= !strcmp(words[i], "graph");
	}
	if (graph)
		fail_in_graph();
	else
		launch(bad, &code, main_stream);
	innocent(many, side);
	printf("%d\n", cuStreamSynchronize(main_stream));
	printf("%d\n", cuMemAlloc(&memory, 64));
	printf("%d\n", cuMemAlloc(&memory, 64));
	return 0;
}
