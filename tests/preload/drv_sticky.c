/* Work on several streams, some of it known to be done, then a kernel that fails, and a call that notices. Words say
 * what is done before the failing launch:
 *     stream, query, event, context, copy, wait    what shows that the innocent work is done (none: nothing does)
 *     reuse      a stream with innocent work is destroyed; a new one, maybe with its handle, is waited for
 *     unload     the module is unloaded and loaded again before the failing launch
 *     many=N     N innocent launches at one place behind the failing one
 *     capture    innocent launches are captured and never run
 *     graph      the failing kernel is launched as part of a graph
 *     code=N     the error (700)
 *     by=WAY     the function that launches the failing kernel
 *     gone, gone-v2    events go after they were recorded behind innocent work, and others are asked
 * A word of the first line may end in -ptsz, event in -flags, too. Then the functions of that name are called.
 * The innocent kernels are sim_delay, the failing one is sim_fail. */
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 16 };

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

/* The driver's function of that name. */
#define DRIVER(type, name) ((PFN_##type)driver(name))

static void *driver(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (found != NULL)
		return found;
	printf("no %s\n", name);
	exit(9);
}

/* Returns the stream that it was launched on. */
static CUstream launch_by(const char *way, CUfunction function, unsigned *word, CUstream stream)
{
	CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, NULL, 0};
	void *params[] = {word};
	CUDA_LAUNCH_PARAMS_v1 several = {function, 1, 1, 1, 1, 1, 1, 0, stream, params};

	NEED(DRIVER(cuFuncSetBlockShape_v2000, "cuFuncSetBlockShape")(function, 1, 1, 1));
	NEED(DRIVER(cuParamSetSize_v2000, "cuParamSetSize")(function, sizeof(*word)));
	NEED(DRIVER(cuParamSeti_v2000, "cuParamSeti")(function, 0, *word));
	if (strncmp(way, "cuLaunchKernelEx", 16) == 0) {
		NEED(DRIVER(cuLaunchKernelEx_v11060, way)(&config, function, params, NULL));
	} else if (strcmp(way, "cuLaunchCooperativeKernelMultiDevice") == 0) {
		NEED(DRIVER(cuLaunchCooperativeKernelMultiDevice_v9000, way)(&several, 1, 0));
	} else if (strncmp(way, "cuLaunchCooperativeKernel", 25) == 0) {
		NEED(DRIVER(cuLaunchCooperativeKernel_v9000, way)(function, 1, 1, 1, 1, 1, 1, 0, stream, params));
	} else if (strcmp(way, "cuLaunch") == 0) {
		NEED(DRIVER(cuLaunch_v2000, way)(function));
		return NULL;
	} else if (strcmp(way, "cuLaunchGrid") == 0) {
		NEED(DRIVER(cuLaunchGrid_v2000, way)(function, 1, 1));
		return NULL;
	} else if (strcmp(way, "cuLaunchGridAsync") == 0) {
		NEED(DRIVER(cuLaunchGridAsync_v2000, way)(function, 1, 1, stream));
	} else {
		NEED(DRIVER(cuLaunchKernel_v4000, way)(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	}
	return stream;
}

static void innocent(int count, CUstream stream)
{
	for (int i = 0; i < count; i++)
		launch(good, &steps, stream);
}

/* Events go after they were recorded behind innocent work; others, some with their handles, are asked. */
static void again(const char *destroy)
{
	CUevent events[EVENTS], next;
	unsigned same = 0;

	for (int i = 0; i < EVENTS; i++) {
		NEED(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
		NEED(cuEventRecord(events[i], side));
	}
	for (int i = 0; i < EVENTS; i++)
		NEED(DRIVER(cuEventDestroy_v4000, destroy)(events[i]));
	for (int i = 0; i < EVENTS; i++) {
		NEED(cuEventCreate(&next, CU_EVENT_DISABLE_TIMING));
		NEED(cuEventQuery(next));
		for (int j = 0; j < EVENTS; j++)
			same += next == events[j];
	}
	if (same == 0)
		printf("no handle comes again\n");
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
	} else if (!strcmp(how, "query-ptsz")) {
		__typeof__(cuStreamQuery) *query = driver("cuStreamQuery_ptsz");

		while (query(main_stream) != CUDA_SUCCESS || query(side) != CUDA_SUCCESS)
			;
	} else if (!strcmp(how, "event-ptsz")) {
		NEED(DRIVER(cuEventRecord_v2000, "cuEventRecord_ptsz")(event, main_stream));
		NEED(cuEventSynchronize(event));
		NEED(DRIVER(cuEventRecord_v2000, "cuEventRecord_ptsz")(event, side));
		NEED(cuEventSynchronize(event));
	} else if (!strcmp(how, "event-flags") || !strcmp(how, "event-flags-ptsz")) {
		__typeof__(cuEventRecordWithFlags) *record =
			driver(how[11] == '\0' ? "cuEventRecordWithFlags" : "cuEventRecordWithFlags_ptsz");

		NEED(record(event, main_stream, 0));
		NEED(cuEventSynchronize(event));
		NEED(record(event, side, 0));
		NEED(cuEventSynchronize(event));
	} else if (!strcmp(how, "wait-ptsz")) {
		NEED(cuEventRecord(event, side));
		NEED(DRIVER(cuStreamWaitEvent_v3020, "cuStreamWaitEvent_ptsz")(main_stream, event, 0));
		NEED(cuStreamSynchronize(main_stream));
	} else if (!strcmp(how, "gone") || !strcmp(how, "gone-v2")) {
		again(how[4] == '\0' ? "cuEventDestroy" : "cuEventDestroy_v2");
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
	const char *way = NULL;
	CUdeviceptr memory;
	CUcontext context;
	CUstream asked;

	for (int i = 1; i < count; i++)
		if (strcmp(words[i], "copy") == 0)
			flags = CU_STREAM_DEFAULT;
		else if (strncmp(words[i], "by=", 3) == 0)
			way = words[i] + 3;
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
	asked = main_stream;
	if (graph)
		fail_in_graph();
	else if (way != NULL)
		asked = launch_by(way, bad, &code, main_stream);
	else
		launch(bad, &code, main_stream);
	innocent(many, side);
	printf("%d\n", cuStreamSynchronize(asked));
	printf("%d\n", cuMemAlloc(&memory, 64));
	printf("%d\n", cuMemAlloc(&memory, 64));
	return 0;
}
