/* The shared runtime from C, without kernels, so that it also runs on the simulated GPU: memory of every kind, memsets and
 * copies on streams that wait for each other, a graph, and memory that is freed while it is still in use. */
#include <cuda_runtime_api.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"

enum { STREAMS = 3, ROUNDS = 20, MOST_BYTES = 1 << 17 };

static cudaStream_t streams[STREAMS];
static cudaEvent_t event;
static unsigned char back[MOST_BYTES];

/* Set on one stream, handed to the next one, read back by a blocking copy. */
static uint64_t pass_on(unsigned round)
{
	cudaStream_t first = streams[round % STREAMS], second = streams[(round + 1) % STREAMS];
	size_t bytes = 1000 + (size_t)round * 30011 % (MOST_BYTES - 1000);
	void *plain, *ordered, *pinned;

	CHECK(cudaMalloc(&plain, bytes));
	CHECK(cudaMallocAsync(&ordered, bytes, first));
	CHECK(cudaMallocHost(&pinned, bytes));
	CHECK(cudaMemsetAsync(ordered, (int)round + 1, bytes, first));
	CHECK(cudaEventRecord(event, first));
	CHECK(cudaStreamWaitEvent(second, event, 0));
	CHECK(cudaMemcpyAsync(plain, ordered, bytes, cudaMemcpyDeviceToDevice, second));
	CHECK(cudaMemcpyAsync(pinned, plain, bytes, cudaMemcpyDeviceToHost, second));
	CHECK(cudaFreeAsync(ordered, second));
	CHECK(cudaStreamSynchronize(second));
	EXPECT(((unsigned char *)pinned)[bytes - 1] == round + 1);
	CHECK(cudaMemcpy(back, plain, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(plain));
	CHECK(cudaFreeHost(pinned));
	return digest(back, bytes);
}

static uint64_t replay(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	char *memory;

	CHECK(cudaMalloc((void **)&memory, MOST_BYTES));
	CHECK(cudaMemset(memory, 0, MOST_BYTES));
	CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 8; i++)
		CHECK(cudaMemsetAsync(memory + i * 4096, i, 4096 - i, streams[0]));
	CHECK(cudaStreamEndCapture(streams[0], &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, streams[1]));
	CHECK(cudaStreamSynchronize(streams[1]));
	CHECK(cudaMemcpy(back, memory, MOST_BYTES, cudaMemcpyDeviceToHost));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFree(memory));
	return digest(back, MOST_BYTES);
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned round = 0; round < ROUNDS; round++)
		sum = sum * 31 + pass_on(round);
	sum ^= replay();
	CHECK(cudaEventDestroy(event));
	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamDestroy(streams[i]));
	printf("ok copies %016llx\n", (unsigned long long)sum);
	return 0;
}
