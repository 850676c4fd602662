/* Launches that are held for a graph when graphs end for good are made first, before the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/core/conf.h"
#include "shim/submit/graph.h"
#include "shim/submit/make.h"
#include "tests/lib/gsg_fake.h"

enum { PERIOD = 5, LAUNCHES = 1000, AFTER = 7, SAME = 60 };

/* Every other one is a kernel for all contexts, which launches take and nodes do not. */
#define FUNCTION_OF_KERNEL 100u

/* In place of the real one, which would bring in the whole table and with it our dlsym. */
struct gs_driver gs_driver;

static struct gsg_fake_launch launches[LAUNCHES + AFTER];
static uintptr_t made[2 * (LAUNCHES + AFTER)]; /* functions in the order in which the device gets them */
static uint32_t made_count, by_graphs, patches;
static uintptr_t nodes[512]; /* of the graph that is built, or is there */
static uint32_t node_count;
static int graphs, execs;

CUresult gs_make_enter(uint64_t context_id, void *context)
{
	(void)context_id;
	(void)context;
	return CUDA_SUCCESS;
}

void gs_make_launch(const struct gsg_launch *launch)
{
	made[made_count++] = (uintptr_t)launch->shape.function;
}

static CUresult CUDAAPI exchange_mode(CUstreamCaptureMode *mode)
{
	(void)mode;
	return CUDA_SUCCESS;
}

static bool is_kernel(uintptr_t function)
{
	return function < FUNCTION_OF_KERNEL && function % 2 == 0;
}

static CUresult CUDAAPI param_info(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	(void)index;
	(void)offset;
	(void)size;
	return is_kernel((uintptr_t)function) ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult CUDAAPI function_get(CUfunction *function, CUkernel kernel)
{
	assert_true(is_kernel((uintptr_t)kernel));
	*function = (CUfunction)((uintptr_t)kernel + FUNCTION_OF_KERNEL);
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI graph_create(CUgraph *graph, unsigned flags)
{
	(void)flags;
	*graph = (CUgraph)nodes;
	node_count = 0;
	graphs++;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI kernel_add(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
				   const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	assert_ptr_equal(graph, nodes);
	assert_int_equal(count, node_count > 0);
	assert_true(count == 0 || *before == (CUgraphNode)&nodes[node_count - 1]);
	assert_false(is_kernel((uintptr_t)params->func));
	nodes[node_count] = (uintptr_t)params->func;
	*node = (CUgraphNode)&nodes[node_count++];
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI attribute_set(CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue_v1 *value)
{
	(void)node;
	(void)id;
	(void)value;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)flags;
	*exec = (CUgraphExec)graph;
	execs++;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI params_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	(void)exec;
	assert_ptr_equal(params->func, *(const uintptr_t *)node);
	patches++;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI graph_launch(CUgraphExec exec, CUstream stream)
{
	(void)exec;
	(void)stream;
	for (uint32_t i = 0; i < node_count; i++)
		made[made_count++] = nodes[i] % FUNCTION_OF_KERNEL;
	by_graphs += node_count;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI exec_destroy(CUgraphExec exec)
{
	(void)exec;
	execs--;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI graph_destroy(CUgraph graph)
{
	(void)graph;
	graphs--;
	return CUDA_SUCCESS;
}

static uint64_t launch(uint32_t number)
{
	gsg_fake_launch(&launches[number], 1, 8, 1 + number % PERIOD, (uint32_t[]){number / SAME}, 1, false);
	return gs_graph_launch(&launches[number].launch, (uint64_t)number * sizeof(launches[0]));
}

static void check_order(void)
{
	for (uint32_t i = 0; i < made_count; i++)
		assert_int_equal(made[i], 1 + i % PERIOD);
}

static void test_stop(void **state)
{
	uint32_t held;

	(void)state;
	assert_true(gs_graph_start(UINT64_MAX >> 1, UINT64_MAX >> 1));
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(i);
	assert_true(by_graphs > LAUNCHES / 2);
	assert_true(patches > 0);
	held = LAUNCHES - made_count;
	assert_true(held > 0);
	check_order();
	gs_graph_stop("the test wants it");
	for (uint32_t i = 0; i < AFTER; i++) {
		assert_int_equal(launch(LAUNCHES + i), GSG_NONE_HELD);
		assert_int_equal(made_count, LAUNCHES + i + 1);
	}
	check_order();
	gs_graph_forget();
	assert_int_equal(made_count, LAUNCHES + AFTER);
	assert_int_equal(graphs, 0);
	assert_int_equal(execs, 0);
	assert_false(gs_graph_start(0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stop)};

	gs_driver.cuThreadExchangeStreamCaptureMode = exchange_mode;
	gs_driver.cuFuncGetParamInfo = param_info;
	gs_driver.cuKernelGetFunction = function_get;
	gs_driver.cuGraphCreate = graph_create;
	gs_driver.cuGraphAddKernelNode_v2 = kernel_add;
	gs_driver.cuGraphKernelNodeSetAttribute = attribute_set;
	gs_driver.cuGraphInstantiateWithFlags = instantiate;
	gs_driver.cuGraphExecKernelNodeSetParams_v2 = params_set;
	gs_driver.cuGraphLaunch = graph_launch;
	gs_driver.cuGraphExecDestroy = exec_destroy;
	gs_driver.cuGraphDestroy = graph_destroy;
	gs_conf.graph = GS_GRAPH_AUTO;
	gs_conf.graph_chunk = 64;
	gs_conf.graph_cache_mb = 64;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("submit graph", tests, NULL, NULL);
}
