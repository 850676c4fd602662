/* Captures begun and ended by each function there is: memory allocated in one becomes nodes of its graph, and after it
 * is the shim's again. Prints the nodes of each graph. */
#define __CUDA_API_VERSION_INTERNAL
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "shim/gpushim.h"

#include "tests/preload/need.h"

#define GLOBAL CU_STREAM_CAPTURE_MODE_GLOBAL

enum { BYTES = 4 << 20 };

static CUgraph graph;

static CUresult by_v1(CUstream stream)
{
	return cuStreamBeginCapture(stream);
}

static CUresult by_v1_ptsz(CUstream stream)
{
	return cuStreamBeginCapture_ptsz(stream);
}

static CUresult by_v2(CUstream stream)
{
	return cuStreamBeginCapture_v2(stream, GLOBAL);
}

static CUresult by_v2_ptsz(CUstream stream)
{
	return cuStreamBeginCapture_v2_ptsz(stream, GLOBAL);
}

static CUresult to_graph(CUstream stream)
{
	NEED(cuGraphCreate(&graph, 0));
	return cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, GLOBAL);
}

static CUresult to_graph_ptsz(CUstream stream)
{
	NEED(cuGraphCreate(&graph, 0));
	return cuStreamBeginCaptureToGraph_ptsz(stream, graph, NULL, NULL, 0, GLOBAL);
}

/* 0 without the shim. */
static unsigned long served(void)
{
	__typeof__(gpushim_stats) *stats;
	struct gpushim_stats figures;

	*(void **)&stats = dlsym(RTLD_DEFAULT, "gpushim_stats");
	return stats != NULL && stats(0, &figures, sizeof(figures)) == 0 ? figures.allocations : 0;
}

static void capture(CUresult (*begin)(CUstream), CUresult (*end)(CUstream, CUgraph *), CUstream stream)
{
	CUdeviceptr memory;
	unsigned long before;
	size_t count = 0;

	NEED(begin(stream));
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
	NEED(cuMemFreeAsync(memory, stream));
	NEED(end(stream, &graph));
	NEED(cuGraphGetNodes(graph, NULL, &count));
	printf("%zu nodes\n", count);
	NEED(cuGraphDestroy(graph));
	before = served();
	NEED(cuMemAllocAsync(&memory, BYTES, stream));
	NEED(cuMemFreeAsync(memory, stream));
	if (before != 0 && served() == before)
		printf("memory is not served any more\n");
}

/* A capture that is refused is none. */
static void refused(CUresult (*begin)(CUstream))
{
	CUdeviceptr memory;
	unsigned long before = served();

	printf("on the legacy stream %d\n", begin(CU_STREAM_LEGACY));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	if (before != 0 && served() == before)
		printf("memory is not served any more\n");
}

int main(void)
{
	static CUresult (*const begins[])(CUstream) = {by_v1, by_v1_ptsz, by_v2, by_v2_ptsz, to_graph, to_graph_ptsz};
	CUcontext context;
	CUdeviceptr first;
	CUstream stream;

	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc_v2(&first, BYTES));
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		capture(begins[i], cuStreamEndCapture, stream);
		capture(begins[i], cuStreamEndCapture_ptsz, stream);
		refused(begins[i]);
	}
	return 0;
}
