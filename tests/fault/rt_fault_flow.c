/* Captures and graphs, threads, a device that is reset, and requests that are too large, for the sweep of faults. */
#include <pthread.h>

#include <cuda_runtime_api.h>

#include "tests/fault/sweep.h"
#include "tests/fault/work.h"

/* A capture with memory of its own, while memory of other streams comes and goes; then its graph runs. */
static void capture(void)
{
	cudaStream_t capturing = NULL, other = NULL;
	uint32_t *words = NULL, *before = NULL, *during = NULL;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;

	STEP(cudaStreamCreateWithFlags(&capturing, cudaStreamNonBlocking));
	STEP(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	STEP(cudaMalloc((void **)&words, SMALL_BYTES));
	STEP(cudaMallocAsync((void **)&before, SMALL_BYTES, other));
	if (words == NULL || capturing == NULL || other == NULL)
		return;
	if (STEP(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed))) {
		STEP(cudaMemsetAsync(words, 7, SMALL_BYTES, capturing));
		if (before != NULL)
			STEP(cudaFreeAsync(before, other));
		before = NULL;
		STEP(cudaMallocAsync((void **)&during, SMALL_BYTES, other));
		STEP(cudaStreamEndCapture(capturing, &graph));
	}
	if (during != NULL)
		STEP(cudaFreeAsync(during, other));
	if (before != NULL)
		STEP(cudaFreeAsync(before, other));
	if (graph != NULL && STEP(cudaGraphInstantiate(&executable, graph, 0)) && executable != NULL) {
		static uint32_t host[WORDS];
		bool good = STEP(cudaGraphLaunch(executable, capturing));

		good &= STEP(cudaMemcpyAsync(host, words, sizeof(host), cudaMemcpyDeviceToHost, capturing));
		good &= STEP(cudaStreamSynchronize(capturing));
		if (good)
			step_note("words wrong", (int)work_differ(host, 0x07070707));
		STEP(cudaGraphExecDestroy(executable));
	}
	if (graph != NULL)
		STEP(cudaGraphDestroy(graph));
	during = NULL;
	STEP(cudaMallocAsync((void **)&during, SMALL_BYTES, other));
	work_check(during, other, 8);
	if (during != NULL)
		STEP(cudaFreeAsync(during, other));
	STEP(cudaFree(words));
	STEP(cudaStreamDestroy(capturing));
	STEP(cudaStreamDestroy(other));
	STEP(cudaGetLastError());
}

/* A graph that sets memory of cudaMalloc and gives memory of its own to the program, which frees it by either call
 * before the next launch. */
static void graph_memory(void)
{
	static uint32_t host[WORDS];
	cudaGraphExec_t executable = NULL;
	uint32_t *words = NULL, *given = NULL;
	cudaStream_t stream = NULL;
	cudaGraph_t graph = NULL;

	STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	STEP(cudaMalloc((void **)&words, SMALL_BYTES));
	if (words == NULL || stream == NULL)
		return;
	if (STEP(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal))) {
		STEP(cudaMallocAsync((void **)&given, SMALL_BYTES, stream));
		if (given != NULL)
			STEP(cudaMemsetAsync(given, 6, SMALL_BYTES, stream));
		STEP(cudaMemsetAsync(words, 5, SMALL_BYTES, stream));
		STEP(cudaStreamEndCapture(stream, &graph));
	}
	if (graph != NULL)
		STEP(cudaGraphInstantiate(&executable, graph, 0));
	for (int round = 0; executable != NULL && round < 3; round++) {
		bool good;

		if (!STEP(cudaGraphLaunch(executable, stream)))
			break;
		good = STEP(
		    cudaMemcpyAsync(host, given != NULL ? given : words, sizeof(host), cudaMemcpyDeviceToHost, stream));
		good &= STEP(cudaStreamSynchronize(stream));
		if (good)
			step_note("words wrong", (int)work_differ(host, given != NULL ? 0x06060606 : 0x05050505));
		if (good && given != NULL)
			STEP(round == 1 ? cudaFree(given) : cudaFreeAsync(given, stream));
	}
	if (executable != NULL)
		STEP(cudaGraphExecDestroy(executable));
	if (graph != NULL)
		STEP(cudaGraphDestroy(graph));
	work_check(words, stream, 9);
	STEP(cudaFree(words));
	STEP(cudaStreamDestroy(stream));
	STEP(cudaGetLastError());
}

/* Memory of a context that ends is gone; that of the next one is new. */
static void reset(void)
{
	uint32_t *words = NULL;

	STEP(cudaMalloc((void **)&words, MIB));
	work_check(words, NULL, 3);
	STEP(cudaDeviceReset());
	words = NULL;
	STEP(cudaMalloc((void **)&words, MIB));
	work_check(words, NULL, 4);
	STEP(cudaFree(words));
}

/* --- Two threads that take turns, so that one run is like another. */

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_moved = PTHREAD_COND_INITIALIZER;
static unsigned turn;

static void turn_await(unsigned mine)
{
	pthread_mutex_lock(&turn_lock);
	while (turn % 2 != mine)
		pthread_cond_wait(&turn_moved, &turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

static void turn_pass(void)
{
	pthread_mutex_lock(&turn_lock);
	turn++;
	pthread_cond_broadcast(&turn_moved);
	pthread_mutex_unlock(&turn_lock);
}

static void *shared_words[4];

/* What one thread asks for, on its own default stream, the other one frees. */
static void *take_turns(void *number)
{
	unsigned mine = (unsigned)(uintptr_t)number;

	for (unsigned round = 0; round < 4; round++) {
		void **slot = &shared_words[round];

		turn_await(mine);
		if (round % 2 == mine) {
			*slot = NULL;
			if (round < 2)
				STEP(cudaMalloc(slot, MIB));
			else
				STEP(cudaMallocAsync(slot, MIB, cudaStreamPerThread));
			work_check(*slot, cudaStreamPerThread, round + 1);
		}
		turn_pass();
		turn_await(mine);
		if (round % 2 != mine && *slot != NULL) {
			if (round % 2 == 0)
				STEP(cudaFree(*slot));
			else
				STEP(cudaFreeAsync(*slot, cudaStreamPerThread));
		}
		turn_pass();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, take_turns, (void *)1) != 0)
		return;
	take_turns(NULL);
	pthread_join(thread, NULL);
}

/* The device has no room, and the host may run out of its own while that is told. */
static void too_much(void)
{
	void *memory = NULL;

	STEP(cudaMalloc(&memory, (size_t)1 << 40));
	STEP(cudaMallocAsync(&memory, (size_t)1 << 40, NULL));
	STEP(cudaMallocPitch(&memory, &(size_t){0}, (size_t)1 << 20, 1 << 20));
	STEP(cudaGetLastError());
	memory = NULL;
	STEP(cudaMalloc(&memory, MIB));
	work_check(memory, NULL, 2);
	STEP(cudaFree(memory));
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
	    {"capture", work_warm, {capture}, work_settle, false},
	    {"memory of a graph", work_warm, {graph_memory}, work_settle, false},
	    {"reset", work_warm, {reset}, work_settle, false},
	    {"threads", work_warm, {threads}, work_settle, false},
	    {"too much", work_warm, {too_much}, work_settle, false},
	};

	work_init();
	return sweep_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
