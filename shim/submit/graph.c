/* See graph.h. Graphs are made of explicit nodes: no stream of the program is ever captured, because libraries behave differently
 * there. The thread is in relaxed capture mode, so that captures of the program elsewhere do not forbid it anything (H9): it
 * builds and ends graphs, which submits nothing. */
#include "shim/submit/graph.h"

#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/core/conf.h"
#include "shim/core/params.h"
#include "shim/submit/make.h"

static struct gsg_replay replay;
static _Atomic bool stopped; /* for good */
static bool relaxed;	     /* the thread */

/* --- the driver ---------------------------------------------------------------------------------------------------- */

static void launch(void *user, const struct gsg_launch *launch)
{
	(void)user;
	gs_make_launch(launch);
}

static void relax(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	relaxed = relaxed || gs_driver.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
}

/* A stream of a green context has a part of the device only; nodes would run on all of it. In doubt it may be one. */
static bool may_be_green(CUstream stream)
{
#if CUDA_VERSION >= 12050
	CUcontext context = NULL;
	CUgreenCtx green = NULL;

	return gs_driver.cuStreamGetCtx_v2 != NULL &&
	       (gs_driver.cuStreamGetCtx_v2(stream, &context, &green) != CUDA_SUCCESS || green != NULL);
#else
	(void)stream;
	return false;
#endif
}

static int graph_make(void *user, const struct gsg_launch *first, void **ret_graph)
{
	CUgraph graph;

	(void)user;
	if (gs_make_enter(first->shape.context_id, first->context) != CUDA_SUCCESS || may_be_green(first->shape.stream) ||
	    gs_driver.cuGraphCreate(&graph, 0) != CUDA_SUCCESS)
		return GS_E_DRIVER;
	*ret_graph = graph;
	return GS_OK;
}

/* Launches take a CUkernel for a CUfunction, nodes do not. */
static CUfunction function_of(const struct gsg_launch *launch)
{
	CUfunction function = launch->shape.function;
	size_t offset, size;

	if (gs_driver.cuFuncGetParamInfo(function, 0, &offset, &size) == CUDA_SUCCESS)
		return function;
	return gs_driver.cuKernelGetFunction(&function, launch->shape.function) == CUDA_SUCCESS ? function
											       : launch->shape.function;
}

/* What a node needs to point to. */
struct node_params {
	CUDA_KERNEL_NODE_PARAMS_v2 kernel;
	void *params[GS_PARAMS_LIMIT];
	void *extra[5];
	size_t values_bytes;
};

static void fill_params(struct node_params *node, CUfunction function, const struct gsg_launch *launch)
{
	const struct gsg_shape *shape = &launch->shape;
	const struct gs_params *layout = shape->layout;
	unsigned char *values = (unsigned char *)(uintptr_t)gsg_launch_values(launch); /* the driver only reads */

	node->kernel = (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = function,
		.gridDimX = shape->grid[0],
		.gridDimY = shape->grid[1],
		.gridDimZ = shape->grid[2],
		.blockDimX = shape->block[0],
		.blockDimY = shape->block[1],
		.blockDimZ = shape->block[2],
		.sharedMemBytes = shape->shared_bytes,
	};
	if (layout == NULL) {
		node->values_bytes = shape->values_bytes;
		memcpy(node->extra,
		       (void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, values, CU_LAUNCH_PARAM_BUFFER_SIZE, &node->values_bytes,
				  CU_LAUNCH_PARAM_END},
		       sizeof(node->extra));
		node->kernel.extra = node->extra;
		return;
	}
	for (uint32_t i = 0; i < layout->count; i++)
		node->params[i] = values + layout->each[i].offset;
	node->kernel.kernelParams = node->params;
}

/* Those that say nothing need no saying. */
static bool says_something(CUlaunchAttributeID attribute)
{
	return attribute != CU_LAUNCH_ATTRIBUTE_IGNORE && attribute != CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
	       attribute != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
}

static int add_attributes(CUgraphNode node, const struct gsg_launch *launch)
{
	const CUlaunchAttribute *attributes = (const CUlaunchAttribute *)gsg_launch_attributes(launch);

	for (uint32_t i = 0; i < launch->shape.attribute_bytes / sizeof(*attributes); i++)
		if (says_something(attributes[i].id) &&
		    gs_driver.cuGraphKernelNodeSetAttribute(node, attributes[i].id, &attributes[i].value) != CUDA_SUCCESS)
			return GS_E_DRIVER;
	return GS_OK;
}

static int node_add(void *user, void *graph, const struct gsg_node *before, const struct gsg_launch *launch,
		    struct gsg_node *ret_node)
{
	const CUgraphNode after = before != NULL ? before->handle : NULL;
	CUfunction function = function_of(launch);
	struct node_params params;
	CUgraphNode node;

	(void)user;
	fill_params(&params, function, launch);
	if (gs_driver.cuGraphAddKernelNode_v2(&node, graph, before != NULL ? &after : NULL, before != NULL, &params.kernel) !=
	    CUDA_SUCCESS)
		return GS_E_DRIVER;
	*ret_node = (struct gsg_node){.handle = node, .function = function};
	return add_attributes(node, launch);
}

static int exec_make(void *user, void *graph, void **ret_exec)
{
	CUgraphExec exec;

	(void)user;
	if (gs_driver.cuGraphInstantiateWithFlags(&exec, graph, 0) != CUDA_SUCCESS)
		return GS_E_DRIVER;
	*ret_exec = exec;
	return GS_OK;
}

static int node_patch(void *user, void *exec, const struct gsg_node *node, const struct gsg_launch *launch)
{
	struct node_params params;

	(void)user;
	fill_params(&params, node->function, launch);
	return gs_driver.cuGraphExecKernelNodeSetParams_v2(exec, node->handle, &params.kernel) == CUDA_SUCCESS ? GS_OK : GS_E_DRIVER;
}

static int exec_launch(void *user, void *exec, const struct gsg_launch *first)
{
	(void)user;
	return gs_make_enter(first->shape.context_id, first->context) == CUDA_SUCCESS &&
			       gs_driver.cuGraphLaunch(exec, first->shape.stream) == CUDA_SUCCESS
		       ? GS_OK
		       : GS_E_DRIVER;
}

static void exec_end(void *user, void *exec)
{
	(void)user;
	gs_driver.cuGraphExecDestroy(exec);
}

static void graph_end(void *user, void *graph)
{
	(void)user;
	gs_driver.cuGraphDestroy(graph);
}

static uint64_t now_ns(void *user)
{
	(void)user;
	return gsb_os_now_ns();
}

static const struct gsg_graph_ops ops = {
	.launch = launch,
	.graph_make = graph_make,
	.node_add = node_add,
	.exec_make = exec_make,
	.node_patch = node_patch,
	.exec_launch = exec_launch,
	.exec_end = exec_end,
	.graph_end = graph_end,
	.now_ns = now_ns,
};

/* --- on and off ---------------------------------------------------------------------------------------------------- */

static bool has_functions(void)
{
	return gs_driver.cuGraphCreate != NULL && gs_driver.cuGraphAddKernelNode_v2 != NULL &&
	       gs_driver.cuGraphKernelNodeSetAttribute != NULL && gs_driver.cuGraphInstantiateWithFlags != NULL &&
	       gs_driver.cuGraphExecKernelNodeSetParams_v2 != NULL && gs_driver.cuGraphLaunch != NULL &&
	       gs_driver.cuGraphExecDestroy != NULL && gs_driver.cuGraphDestroy != NULL && gs_driver.cuKernelGetFunction != NULL &&
	       gs_driver.cuThreadExchangeStreamCaptureMode != NULL;
}

bool gs_graph_start(uint64_t late_ticks, uint64_t slow_ticks)
{
	struct gsg_replay_options options = {
		.chunk = (uint32_t)gs_conf.graph_chunk,
		.cache_bytes = gs_conf.graph_cache_mb << 20,
		.late_ticks = late_ticks,
		.slow_ticks = slow_ticks,
	};

	if (gs_conf.graph != GS_GRAPH_AUTO || atomic_load(&stopped))
		return false;
	if (!has_functions()) {
		gsb_log(GSB_LOG_INFO, "graph:auto does nothing here: the driver lacks functions for it");
		return false;
	}
#ifdef GSB_DEBUG
	options.eager = true;
#endif
	gsg_replay_init(&replay, &ops, NULL, &options);
	return true;
}

void gs_graph_stop(const char *why)
{
	if (!atomic_exchange(&stopped, true) && gs_conf.graph == GS_GRAPH_AUTO)
		gsb_log(GSB_LOG_INFO, "launches are no longer made by graphs: %s", why);
}

const struct gsg_replay_stats *gs_graph_stats(void)
{
	return gs_conf.graph == GS_GRAPH_AUTO ? &replay.stats : NULL;
}

/* --- the queue's thread -------------------------------------------------------------------------------------------- */

uint64_t gs_graph_launch(const struct gsg_launch *launch, uint64_t position)
{
	if (!relaxed)
		relax();
	if (!atomic_load_explicit(&stopped, memory_order_relaxed) && relaxed)
		return gsg_replay_run(&replay, launch, position);
	gsg_replay_settle(&replay, GSG_PLAIN_FLUSH);
	gs_make_launch(launch);
	return GSG_NONE_HELD;
}

uint64_t gs_graph_between(uint64_t context_id, CUstream stream)
{
	return gsg_replay_between(&replay, context_id, stream, gs_graph_is_legacy(stream));
}

uint32_t gs_graph_held(uint64_t *ret_oldest)
{
	return gsg_replay_held(&replay, ret_oldest);
}

void gs_graph_settle(void *user, enum gsg_settle_reason reason)
{
	(void)user;
	gsg_replay_settle(&replay, reason == GSG_SETTLE_LATE ? GSG_PLAIN_LATE : GSG_PLAIN_FLUSH);
}

void gs_graph_forget(void)
{
	gsg_replay_forget(&replay);
}

/* A node has the priority of the graph's stream. */
uint32_t gs_graph_flags(const CUlaunchConfig *config)
{
	uint32_t flags = gs_graph_is_legacy(config->hStream) ? GSG_SHAPE_LEGACY : 0;

	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
			flags |= GSG_SHAPE_PLAIN;
	return flags;
}
