/* Work on several streams, some of it known to be done, then a kernel that fails, and a call that notices. Words say
 * what is done before the failing launch:
 *     stream, query, event, context, copy, wait    what shows that the innocent work is done (none: nothing does)
 *     reuse      a stream with innocent work is destroyed; a new one, maybe with its handle, is waited for
 *     unload, library    the module, or library, is unloaded and loaded again before the failing launch, the failing
 *                kernel with the handle that another one had
 *     ended      the context ends, and another comes, with that handle
 *     many=N     N innocent launches at one place behind the failing one
 *     capture    innocent launches are captured and never run
 *     graph, graph-ptsz  the failing kernel is launched as part of a graph
 *     code=N     the error (700)
 *     by=WAY     the function that launches the failing kernel
 *     gone, gone-v2    events go after they were recorded behind innocent work, and others are asked
 * A word of the first line may end in -ptsz, event in -flags, too. Then the functions of that name are called.
 * The innocent kernels are sim_delay, the failing one is sim_fail. */
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 16 };

#define NEED(call) need_(call, #call)

static CUmodule module;
static CUlibrary library; /* NULL: the kernels are functions of the module */
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

static void get(const char *name, CUfunction *ret_function)
{
	if (library == NULL)
		NEED(cuModuleGetFunction(ret_function, module, name));
	else
		NEED(cuLibraryGetKernel((CUkernel *)ret_function, library, name));
}

static void load(bool from_library, const char *first, CUfunction *ret_first, const char *second,
		 CUfunction *ret_second)
{
	if (from_library)
		NEED(cuLibraryLoadData(&library, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	else
		NEED(cuModuleLoadData(&module, "simulated"));
	get(first, ret_first);
	get(second, ret_second);
}

static void load_again(bool ends_context)
{
	CUfunction old = good;
	CUcontext context;

	if (ends_context) {
		NEED(cuDevicePrimaryCtxRelease(0));
		NEED(cuDevicePrimaryCtxRetain(&context, 0));
		NEED(cuCtxSetCurrent(context));
		NEED(cuStreamCreate(&main_stream, CU_STREAM_NON_BLOCKING));
		NEED(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	} else if (library != NULL) {
		NEED(cuLibraryUnload(library));
	} else {
		NEED(cuModuleUnload(module));
	}
	load(library != NULL, "sim_fail", &bad, "sim_delay", &good);
	if (bad != old)
		printf("no handle comes again\n");
}

/* The same place for all that launch from where this is called. */
static __attribute__((noinline)) void launch(int count, CUfunction function, unsigned *word, CUstream stream)
{
	void *params[] = {word};

	for (int i = 0; i < count; i++)
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
	} else if (!strcmp(how, "unload") || !strcmp(how, "library") || !strcmp(how, "ended")) {
		load_again(how[0] == 'e');
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
	launch(3, good, &steps, side);
	NEED(cuStreamEndCapture(side, &graph));
}

static void fail_in_graph(const char *way)
{
	CUgraphExec exec;
	CUgraph graph;

	NEED(cuStreamBeginCapture(main_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(1, bad, &code, main_stream);
	NEED(cuStreamEndCapture(main_stream, &graph));
	NEED(cuGraphInstantiate(&exec, graph, 0));
	NEED(DRIVER(cuGraphLaunch_v10000, way)(exec, main_stream));
}

int main(int count, char **words)
{
	int many = 0;
	bool from_library = false;
	unsigned flags = CU_STREAM_NON_BLOCKING;
	const char *way = NULL, *graph = NULL;
	CUdeviceptr memory;
	CUcontext context;
	CUstream asked;

	for (int i = 1; i < count; i++)
		if (strcmp(words[i], "copy") == 0)
			flags = CU_STREAM_DEFAULT;
		else if (strncmp(words[i], "by=", 3) == 0)
			way = words[i] + 3;
		else if (strcmp(words[i], "library") == 0)
			from_library = true;
	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	load(from_library, "sim_delay", &good, "sim_fail", &bad);
	NEED(cuStreamCreate(&main_stream, flags));
	NEED(cuStreamCreate(&side, flags));
	launch(1, bad, &zero, main_stream);
	launch(4, good, &steps, main_stream);
	launch(2, good, &steps, side);
	for (int i = 1; i < count; i++) {
		shown_done(words[i]);
		if (!strcmp(words[i], "capture"))
			captured();
		sscanf(words[i], "many=%d", &many);
		sscanf(words[i], "code=%u", &code);
		if (!strncmp(words[i], "graph", 5))
			graph = words[i][5] == '\0' ? "cuGraphLaunch" : "cuGraphLaunch_ptsz";
	}
	asked = main_stream;
	if (graph != NULL)
		fail_in_graph(graph);
	else if (way != NULL)
		asked = launch_by(way, bad, &code, main_stream);
	else
		launch(1, bad, &code, main_stream);
	launch(many, good, &steps, side);
	printf("%d\n", cuStreamSynchronize(asked));
	printf("%d\n", cuMemAlloc(&memory, 64));
	printf("%d\n", cuMemAlloc(&memory, 64));
	return 0;
}
