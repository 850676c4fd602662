/* Memory that is allocated while a stream captures, one situation each, named by argv[1]; prints what the program sees
 * of it. It uses no kernels, so it runs on a real GPU too. The output must be the same with the shim: memory of graphs is
 * the driver's (shim/wrap/memory.c says why). */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void need_(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	printf("%s: %d\n", what, error);
	exit(9);
}

#define NEED(call) need_(call, #call)

static cudaStream_t stream_new(void)
{
	cudaStream_t stream;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

static void begin(cudaStream_t stream)
{
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

static cudaGraph_t end(cudaStream_t stream)
{
	cudaGraph_t graph;

	NEED(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static void *taken(size_t size_bytes, cudaStream_t stream)
{
	void *memory;

	NEED(cudaMallocAsync(&memory, size_bytes, stream));
	return memory;
}

static int byte_at(const void *memory)
{
	unsigned char value = 0;

	NEED(cudaMemcpy(&value, memory, 1, cudaMemcpyDeviceToHost));
	return value;
}

static size_t device_free(void)
{
	size_t free_bytes, total_bytes;

	NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
	return free_bytes;
}

static uint64_t graph_figure(enum cudaGraphMemAttributeType attribute)
{
	uint64_t bytes = 0;

	NEED(cudaDeviceGetGraphMemAttribute(0, attribute, &bytes));
	return bytes;
}

static void print_figures(const char *when)
{
	printf("%s: used %llu, at most %llu, held at most %llu\n", when,
	       (unsigned long long)graph_figure(cudaGraphMemAttrUsedMemCurrent),
	       (unsigned long long)graph_figure(cudaGraphMemAttrUsedMemHigh),
	       (unsigned long long)graph_figure(cudaGraphMemAttrReservedMemHigh));
}

/* A model at several shapes: each graph has memory of its own size, and only one runs at a time. */
static void shapes(void)
{
	enum { SHAPES = 6 };
	cudaStream_t stream = stream_new();
	char *outputs[SHAPES];
	cudaGraphExec_t execs[SHAPES];
	size_t before = device_free();

	for (size_t i = 0; i < SHAPES; i++) {
		size_t size_bytes = (i + 1) * 4 * MIB;
		void *first, *second;
		cudaGraph_t graph;

		NEED(cudaMalloc((void **)&outputs[i], 16));
		begin(stream);
		first = taken(size_bytes, stream);
		second = taken(size_bytes / 2, stream);
		NEED(cudaMemsetAsync(first, (int)i + 1, size_bytes, stream));
		NEED(cudaMemcpyAsync(second, first, size_bytes / 2, cudaMemcpyDeviceToDevice, stream));
		NEED(cudaFreeAsync(first, stream));
		NEED(cudaMemcpyAsync(outputs[i], (char *)second + size_bytes / 2 - 16, 16, cudaMemcpyDeviceToDevice, stream));
		NEED(cudaFreeAsync(second, stream));
		graph = end(stream);
		NEED(cudaGraphInstantiate(&execs[i], graph, 0));
		NEED(cudaGraphDestroy(graph));
	}
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < SHAPES; i++) {
			NEED(cudaMemset(outputs[i], 0, 16));
			NEED(cudaDeviceSynchronize());
			NEED(cudaGraphLaunch(execs[i], stream));
			NEED(cudaStreamSynchronize(stream));
			printf("%d ", byte_at(outputs[i]));
		}
	print_figures("after launches");
	printf("taken from the device: %zu MiB\n", (before - device_free()) >> 20);
	for (unsigned i = 0; i < SHAPES; i++) {
		NEED(cudaGraphExecDestroy(execs[i]));
		NEED(cudaFree(outputs[i]));
	}
	NEED(cudaDeviceSynchronize());
	NEED(cudaDeviceGraphMemTrim(0));
	print_figures("gone");
	printf("not given back: %zu MiB\n", (before - device_free()) >> 22 << 2);
}

/* What is freed in a capture serves the rest of it. */
static void inside(void)
{
	cudaStream_t stream = stream_new();
	size_t before = device_free();
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	begin(stream);
	for (unsigned i = 0; i < 8; i++) {
		void *memory = taken(16 * MIB, stream);

		NEED(cudaMemsetAsync(memory, 1, 16 * MIB, stream));
		NEED(cudaFreeAsync(memory, stream));
	}
	graph = end(stream);
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphLaunch(exec, stream));
	NEED(cudaStreamSynchronize(stream));
	printf("8 blocks of 16 MiB by turns take %zu MiB\n", (before - device_free()) >> 20);
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
}

/* Two captures at once, each with memory of its own, and memory of the pool beside them. */
static void several(void)
{
	cudaStream_t streams[2] = {stream_new(), stream_new()}, other = stream_new();
	cudaGraphExec_t execs[2];
	void *memory[2], *eager;

	for (unsigned i = 0; i < 2; i++)
		begin(streams[i]);
	for (unsigned i = 0; i < 2; i++) {
		memory[i] = taken(2 * MIB, streams[i]);
		NEED(cudaMemsetAsync(memory[i], (int)i + 1, 2 * MIB, streams[i]));
	}
	eager = taken(2 * MIB, other);
	NEED(cudaMemsetAsync(eager, 9, 2 * MIB, other));
	for (unsigned i = 2; i-- > 0;) {
		cudaGraph_t graph = end(streams[i]);

		NEED(cudaGraphInstantiate(&execs[i], graph, 0));
		NEED(cudaGraphDestroy(graph));
	}
	for (unsigned i = 0; i < 2; i++)
		NEED(cudaGraphLaunch(execs[i], streams[i]));
	NEED(cudaDeviceSynchronize());
	printf("%d %d %d\n", byte_at(memory[0]), byte_at(memory[1]), byte_at(eager));
	NEED(cudaFreeAsync(memory[0], streams[0]));
	NEED(cudaFree(memory[1]));
	NEED(cudaFreeAsync(eager, other));
	NEED(cudaDeviceSynchronize());
}

/* A capture that fails after it has taken memory. */
static void failed(void)
{
	cudaStream_t stream = stream_new();
	size_t before = device_free();
	cudaGraph_t graph = NULL;
	void *memory = NULL;

	for (unsigned i = 0; i < 20; i++) {
		begin(stream);
		taken(32 * MIB, stream);
		taken(1 * MIB, stream);
		(void)cudaStreamSynchronize(stream);
		printf("%d ", cudaMallocAsync(&memory, MIB, stream));
		printf("%d, ", cudaStreamEndCapture(stream, &graph));
		(void)cudaGetLastError();
	}
	print_figures("afterwards");
	printf("not given back: %zu MiB\n", (before - device_free()) >> 20);
}

/* The executable, and what it gave to the program, outlive the graph; the memory outlives the executable. */
static void outlives(void)
{
	cudaStream_t stream = stream_new();
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	void *memory;

	begin(stream);
	memory = taken(4 * MIB, stream);
	NEED(cudaMemsetAsync(memory, 5, 4 * MIB, stream));
	graph = end(stream);
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphDestroy(graph));
	NEED(cudaGraphLaunch(exec, stream));
	NEED(cudaStreamSynchronize(stream));
	printf("%d, ", byte_at(memory));
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaMemset(memory, 6, MIB));
	printf("%d, ", byte_at(memory));
	printf("free %d", cudaFreeAsync(memory, stream));
	NEED(cudaStreamSynchronize(stream));
	printf(", twice %d\n", cudaFreeAsync(memory, stream));
	(void)cudaGetLastError();
	NEED(cudaDeviceGraphMemTrim(0));
	print_figures("afterwards");
}

/* cudaMalloc while a relaxed capture is open, as PyTorch's own allocator does for its private pools. */
static void legacy(void)
{
	cudaStream_t stream = stream_new();
	size_t before = device_free();
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	void *memory;

	begin(stream);
	NEED(cudaMalloc(&memory, 32 * MIB));
	NEED(cudaMemsetAsync(memory, 3, 32 * MIB, stream));
	graph = end(stream);
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned i = 0; i < 3; i++) {
		NEED(cudaMemset(memory, 0, MIB));
		NEED(cudaDeviceSynchronize());
		NEED(cudaGraphLaunch(exec, stream));
		NEED(cudaStreamSynchronize(stream));
		printf("%d ", byte_at(memory));
	}
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
	printf("free %d", cudaFree(memory));
	printf(", not given back: %zu MiB\n", (before - device_free()) >> 20);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} situations[] = {{"shapes", shapes}, {"inside", inside},     {"several", several},
			  {"failed", failed}, {"outlives", outlives}, {"legacy", legacy}};

	NEED(cudaFree(NULL));
	for (unsigned i = 0; argc == 2 && i < sizeof(situations) / sizeof(situations[0]); i++)
		if (strcmp(situations[i].name, argv[1]) == 0)
			situations[i].run();
	return 0;
}
