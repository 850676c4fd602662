/* Launches that repeat, as programs make them, a case a run: argv[1]. All print what the program sees, which must be the same with
 * graph:auto and without. tests/preload/test_replay.sh says how many of them have to be made by graphs. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/kernel.h"

enum { WORDS = 256, STEPS = 400, LONG = 6000 };

static uint32_t *words_new(void)
{
	uint32_t *words;

	NEED(cudaMalloc((void **)&words, WORDS * sizeof(*words)));
	NEED(cudaMemset(words, 0, WORDS * sizeof(*words)));
	return words;
}

static uint32_t first_of(const uint32_t *words)
{
	uint32_t value;

	NEED(cudaMemcpy(&value, words, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

/* Waits for everything. */
static void say(uint32_t *errors, const uint32_t *words)
{
	uint32_t count = errors_read(errors);

	printf("errors %u, last %u\n", count, first_of(words));
}

static void constant(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *sum = words_new(), *one = words_new(), *errors = errors_new();

	kernel_fill(one, 1, WORDS, stream);
	for (uint32_t i = 0; i < LONG; i++)
		kernel_add(sum, one, WORDS, stream);
	kernel_verify(sum, LONG, WORDS, errors, stream);
	say(errors, sum);
}

static void ping_pong(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *buffers[2] = {words_new(), words_new()}, *errors = errors_new();

	kernel_fill(buffers[0], 1, WORDS, stream);
	for (uint32_t i = 0; i < LONG; i++)
		kernel_add(buffers[i % 2], buffers[1 - i % 2], WORDS, stream);
	say(errors, buffers[0]);
	printf("other %u\n", first_of(buffers[1]));
}

/* Every value is written over the last one and checked. */
static void changing(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();

	for (uint32_t i = 0; i < LONG; i++) {
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
	}
	say(errors, words);
}

/* One step of a kind: so many launches that depend on each other. */
static void step(uint32_t *words, uint32_t *more, uint32_t *errors, uint32_t number, uint32_t length, cudaStream_t stream)
{
	kernel_fill(words, number, WORDS, stream);
	kernel_fill(more, 1, WORDS, stream);
	for (uint32_t i = 0; i < length; i++) {
		kernel_add(words, more, WORDS, stream);
		if (i % 5 == 4)
			kernel_verify(words, number + i + 1, WORDS, errors, stream);
	}
	kernel_verify(words, number + length, WORDS, errors, stream);
}

/* Training, and evaluation now and then. */
static void two_kinds(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *more = words_new(), *errors = errors_new();

	for (uint32_t i = 0; i < 120; i++) {
		step(words, more, errors, i, i / 15 % 3 == 2 ? 20 : 90, stream);
		NEED(cudaStreamSynchronize(stream));
	}
	say(errors, words);
}

/* The lengths of steps are drawn. */
static void aperiodic(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *more = words_new(), *errors = errors_new(), state = 1;

	for (uint32_t i = 0; i < 200; i++) {
		state = state * 1103515245 + 12345;
		step(words, more, errors, i, state >> 16 & 31, stream);
	}
	say(errors, words);
}

/* A launch among those that repeat is refused, and the program is told at once. */
static void refused(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *more = words_new(), *errors = errors_new(), value = 77;
	uint64_t count = WORDS;
	void *params[] = {&words, &value, &count};
	unsigned wrong = 0;

	for (uint32_t i = 0; i < 60; i++) {
		step(words, more, errors, i, 40, stream);
		wrong += cudaLaunchKernel((const void *)kernel_stub_fill, (dim3){i % 3, 1, 1}, (dim3){128, 1, 1}, params, 0, stream) !=
			 (i % 3 == 0 ? cudaErrorInvalidConfiguration : cudaSuccess);
		wrong += cudaGetLastError() != (i % 3 == 0 ? cudaErrorInvalidConfiguration : cudaSuccess);
	}
	say(errors, words);
	printf("wrong %u\n", wrong);
}

/* Streams end in the middle of a step, and new ones get their handles. */
static void streams(void)
{
	uint32_t *words = words_new(), *errors = errors_new();

	for (uint32_t i = 0; i < 12; i++) {
		cudaStream_t stream = stream_new();

		for (uint32_t j = 0; j < 333; j++) {
			kernel_fill(words, i + j, WORDS, stream);
			kernel_verify(words, i + j, WORDS, errors, stream);
		}
		NEED(cudaStreamDestroy(stream));
		NEED(cudaDeviceSynchronize());
	}
	say(errors, words);
}

/* An attribute of a kernel changes every so often. */
static void attribute(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();
	unsigned wrong = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		if (i % 500 == 250)
			wrong += cudaFuncSetAttribute((const void *)kernel_stub_fill, cudaFuncAttributeMaxDynamicSharedMemorySize,
						      40000 + (int)i) != cudaSuccess;
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
	}
	say(errors, words);
	printf("wrong %u\n", wrong);
}

/* The program captures in the middle of a step: its graph has what it launched, and nothing else. */
static void capture(void)
{
	cudaStream_t stream = stream_new(), other = stream_new();
	uint32_t *words = words_new(), *more = words_new(), *errors = errors_new();
	cudaGraphExec_t executable;
	size_t nodes, sum = 0;
	cudaGraph_t graph;

	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t j = 0; j < 5; j++)
			step(words, more, errors, j, 20, stream);
		kernel_fill(words, 3, WORDS, stream);
		NEED(cudaStreamBeginCapture(other, i % 2 == 0 ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
		kernel_fill(more, i, WORDS, other);
		kernel_verify(words, 3, WORDS, errors, stream);
		kernel_verify(more, i, WORDS, errors, other);
		NEED(cudaStreamEndCapture(other, &graph));
		NEED(cudaGraphGetNodes(graph, NULL, &nodes));
		NEED(cudaGraphInstantiate(&executable, graph, 0));
		sum += nodes;
		NEED(cudaStreamSynchronize(stream));
		NEED(cudaGraphLaunch(executable, other));
		NEED(cudaStreamSynchronize(other));
		NEED(cudaGraphExecDestroy(executable));
		NEED(cudaGraphDestroy(graph));
	}
	say(errors, more);
	printf("nodes %zu\n", sum);
}

/* A fork in the middle of a step; the child ends as it likes. */
static void forks(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();
	unsigned ended = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
		if (i % 250 == 249) {
			pid_t child = fork();
			int status;

			if (child == 0)
				exit(3);
			waitpid(child, &status, 0);
			ended += WIFEXITED(status) && WEXITSTATUS(status) == 3;
		}
	}
	say(errors, words);
	printf("ended %u\n", ended);
}

/* The program ends with launches held. */
static void exits(void)
{
	uint32_t *words = words_new();
	cudaStream_t stream = stream_new();

	for (uint32_t i = 0; i < 1033; i++)
		kernel_fill(words, i, WORDS, stream);
	printf("bye\n");
}

/* Two streams take turns after every launch, with events in between at times. */
static void two_streams(void)
{
	cudaStream_t both[2] = {stream_new(), stream_new()};
	uint32_t *words[2] = {words_new(), words_new()}, *errors = errors_new();
	cudaEvent_t event;

	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (uint32_t i = 0; i < 3000; i++) {
		kernel_fill(words[i % 2], i, WORDS, both[i % 2]);
		kernel_verify(words[i % 2], i, WORDS, errors, both[i % 2]);
		if (i % 300 == 299) {
			NEED(cudaEventRecord(event, both[0]));
			NEED(cudaStreamWaitEvent(both[1], event, 0));
			kernel_verify(words[0], i - 1, WORDS, errors, both[1]);
			NEED(cudaEventRecord(event, both[1]));
			NEED(cudaStreamWaitEvent(both[0], event, 0));
		}
	}
	say(errors, words[0]);
}

/* The legacy stream and a blocking one, which wait for each other without being told. */
static void legacy(void)
{
	uint32_t *words = words_new(), *errors = errors_new();
	cudaStream_t stream;

	NEED(cudaStreamCreate(&stream));
	for (uint32_t i = 0; i < 4000; i++) {
		kernel_fill(words, i, WORDS, i / 500 % 2 == 0 ? NULL : stream);
		kernel_verify(words, i, WORDS, errors, i / 400 % 3 == 0 ? NULL : stream);
	}
	say(errors, words);
}

/* The host watches a word of its own and makes no call. */
static void spin(void)
{
	cudaStream_t stream = stream_new();
	volatile uint32_t *flag;
	uint32_t *words = words_new();

	NEED(cudaHostAlloc((void **)&flag, sizeof(*flag), cudaHostAllocMapped));
	for (uint32_t i = 1; i <= 60; i++) {
		for (uint32_t j = 0; j < 103; j++)
			kernel_fill(words, j, WORDS, stream);
		kernel_fill((uint32_t *)flag, i, 1, stream);
		while (*flag != i)
			sched_yield();
	}
	printf("flag %u\n", *flag);
}

/* Memory that held launches use is freed and given to others. */
static void memory(void)
{
	cudaStream_t stream = stream_new(), other = stream_new();
	uint32_t *errors = errors_new();

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t count = i % 40 == 39 ? 4u << 20 : WORDS;
		bool async = i % 2 == 0 && i % 7 != 6;
		uint32_t *words;

		if (async)
			NEED(cudaMallocAsync((void **)&words, count * sizeof(*words), stream));
		else
			NEED(cudaMalloc((void **)&words, count * sizeof(*words)));
		for (uint32_t j = 0; j < 9; j++) {
			kernel_fill(words, i + j, count, i % 7 == 6 ? other : stream);
			kernel_verify(words, i + j, count, errors, i % 7 == 6 ? other : stream);
		}
		if (i % 7 == 6)
			NEED(cudaStreamSynchronize(other));
		if (async)
			NEED(cudaFreeAsync(words, stream));
		else
			NEED(cudaFree(words));
	}
	printf("errors %u\n", errors_read(errors));
}

/* Attributes of launches: clusters of one block, a programmatic launch, and a priority; what lies behind their values is never
 * the same. */
static void attributes(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();
	uint64_t count = WORDS;

	for (uint32_t i = 0; i < 3000; i++) {
		cudaLaunchAttribute attribute[3];

		memset(attribute, (int)i, sizeof(attribute));
		attribute[0].id = cudaLaunchAttributeClusterDimension;
		attribute[0].val.clusterDim.x = attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
		attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
		attribute[1].val.programmaticStreamSerializationAllowed = 1;
		attribute[2].id = cudaLaunchAttributePriority;
		attribute[2].val.priority = 0;
		cudaLaunchConfig_t config = {.gridDim = {1, 1, 1},
					     .blockDim = {128, 1, 1},
					     .stream = stream,
					     .attrs = attribute,
					     .numAttrs = i / 1000 % 2 == 0 ? 2 : 3};

		NEED(cudaLaunchKernelExC(&config, (const void *)kernel_stub_fill, (void *[]){&words, &i, &count}));
		kernel_verify(words, i, WORDS, errors, stream);
	}
	say(errors, words);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"constant", constant},	    {"ping_pong", ping_pong}, {"changing", changing}, {"two_kinds", two_kinds},
	{"aperiodic", aperiodic},   {"refused", refused},     {"streams", streams},
	{"attribute", attribute},   {"capture", capture},     {"forks", forks},	      {"exits", exits},
	{"two_streams", two_streams}, {"legacy", legacy},     {"spin", spin},
	{"memory", memory},	    {"attributes", attributes},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	kernels_register();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		fprintf(stderr, "%s\n", cases[i].name);
	return 2;
}
