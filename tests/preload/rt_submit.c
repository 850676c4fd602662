/* What launches that were put off must not change, a case a run: argv[1]. All print what the program sees, which must be
 * the same with submit:thread and without. The names of hazards are in tests/preload/test_submit.sh. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/preload/kernel.h"

enum { WORDS = 4096, CHAIN = 3000, THREADS = 4 };

static uint32_t *words_new(void)
{
	uint32_t *words;

	NEED(cudaMalloc((void **)&words, WORDS * sizeof(*words)));
	return words;
}

/* Waits for everything. */
static void say(uint32_t *errors, const uint32_t *words)
{
	uint32_t count = errors_read(errors), last;

	NEED(cudaMemcpy(&last, words, sizeof(last), cudaMemcpyDeviceToHost));
	printf("errors %u, last %u\n", count, last);
}

static uint32_t first_of(const uint32_t *words)
{
	uint32_t value;

	NEED(cudaMemcpy(&value, words, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

/* So many launches that the next ones are surely put off. */
static void warm_up(uint32_t *words, cudaStream_t stream)
{
	for (unsigned i = 0; i < 200; i++)
		kernel_fill(words, i, WORDS, stream);
}

/* Every value is written over the last one and checked. */
static void chain(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();

	for (uint32_t i = 0; i < CHAIN; i++) {
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
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
	for (uint32_t i = 1; i <= 50; i++) {
		warm_up(words, stream);
		kernel_fill((uint32_t *)flag, i, 1, stream);
		while (*flag != i)
			sched_yield();
	}
	printf("flag %u\n", *flag);
}

/* Two streams take turns; each waits for the other's event. */
static void turns(void)
{
	cudaStream_t streams[2] = {stream_new(), stream_new()};
	uint32_t *words = words_new(), *errors = errors_new();
	cudaEvent_t event;

	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (uint32_t i = 0; i < CHAIN; i++) {
		cudaStream_t stream = streams[i / 20 % 2];

		if (i % 20 == 0 && i > 0) {
			NEED(cudaEventRecord(event, streams[1 - i / 20 % 2]));
			NEED(cudaStreamWaitEvent(stream, event, 0));
		}
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
	}
	say(errors, words);
}

/* The legacy stream and a blocking one wait for each other without being told. */
static void legacy(void)
{
	uint32_t *words = words_new(), *errors = errors_new();
	cudaStream_t stream;

	NEED(cudaStreamCreate(&stream));
	for (uint32_t i = 0; i < CHAIN; i++) {
		kernel_fill(words, i, WORDS, i % 3 == 0 ? NULL : stream);
		kernel_verify(words, i, WORDS, errors, i % 2 == 0 ? NULL : stream);
	}
	say(errors, words);
}

static void per_thread(void)
{
	uint32_t *words = words_new(), *errors = errors_new();

	for (uint32_t i = 0; i < 1000; i++) {
		kernel_fill(words, i, WORDS, cudaStreamPerThread);
		kernel_verify(words, i, WORDS, errors, cudaStreamPerThread);
	}
	NEED(cudaStreamSynchronize(cudaStreamPerThread));
	say(errors, words);
}

/* One launch is refused; the program is told at once, and the others go on. */
static void refused(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), value = 77;
	uint64_t count = WORDS;
	void *params[] = {&words, &value, &count};

	warm_up(words, stream);
	printf("no grid: %d,", cudaLaunchKernel((const void *)kernel_stub_fill, (dim3){0, 1, 1}, (dim3){128, 1, 1}, params, 0,
						stream));
	printf(" last %d,", cudaGetLastError());
	printf(" too large a block: %d,", cudaLaunchKernel((const void *)kernel_stub_fill, (dim3){1, 1, 1},
							   (dim3){4096, 1, 1}, params, 0, stream));
	printf(" last %d,", cudaGetLastError());
	kernel_fill(words, 5, WORDS, stream);
	NEED(cudaStreamSynchronize(stream));
	printf(" then %u, last %d\n", first_of(words), cudaGetLastError());
}

/* The parameters belong to the program again when the launch returns. */
static void params(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new(), value;
	uint64_t count = WORDS;

	for (uint32_t i = 0; i < CHAIN; i++) {
		void *fill[] = {&words, &value, &count}, *verify[] = {&words, &value, &count, &errors};

		value = i;
		NEED(cudaLaunchKernel((const void *)kernel_stub_fill, (dim3){1, 1, 1}, (dim3){128, 1, 1}, fill, 0, stream));
		NEED(cudaLaunchKernel((const void *)kernel_stub_verify, (dim3){1, 1, 1}, (dim3){128, 1, 1}, verify, 0, stream));
		value = UINT32_MAX;
		memset(fill, 0, sizeof(fill));
		memset(verify, 0, sizeof(verify));
	}
	printf("errors %u\n", errors_read(errors));
}

/* Memory that queued work uses is freed, unmapped and given to others. */
static void memory(void)
{
	cudaStream_t streams[2] = {stream_new(), stream_new()};
	uint32_t *errors = errors_new();
	cudaMemPool_t pool;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	for (uint32_t i = 0; i < 400; i++) {
		cudaStream_t stream = streams[i % 2];
		uint64_t count = i % 50 == 0 ? 4u << 20 : WORDS;
		uint32_t *words;

		if (i % 3 == 0)
			NEED(cudaMallocAsync((void **)&words, count * sizeof(*words), stream));
		else
			NEED(cudaMalloc((void **)&words, count * sizeof(*words)));
		for (uint32_t j = 0; j < 8; j++) {
			kernel_fill(words, i + j, count, stream);
			kernel_verify(words, i + j, count, errors, stream);
		}
		if (i % 3 == 0)
			NEED(cudaFreeAsync(words, stream));
		else
			NEED(cudaFree(words));
		if (i % 40 == 39)
			NEED(cudaMemPoolTrimTo(pool, 0));
	}
	printf("errors %u\n", errors_read(errors));
}

static void CUDART_CB note(void *argument)
{
	*(uint32_t *)argument += 1;
}

/* Host functions and copies lie between launches as they were ordered. */
static void callbacks(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *copied, called = 0, wrong = 0;

	NEED(cudaMallocHost((void **)&copied, sizeof(*copied)));
	for (uint32_t i = 0; i < 100; i++) {
		warm_up(words, stream);
		kernel_fill(words, i, WORDS, stream);
		NEED(cudaLaunchHostFunc(stream, note, &called));
		NEED(cudaMemcpyAsync(copied, words, sizeof(*copied), cudaMemcpyDeviceToHost, stream));
		kernel_fill(words, 1000, WORDS, stream);
		NEED(cudaStreamSynchronize(stream));
		wrong += *copied != i || called != i + 1;
	}
	printf("wrong %u\n", wrong);
}

struct crew {
	pthread_barrier_t barrier;
	uint32_t *words, *errors;
	cudaStream_t stream;
};

/* Threads take turns on one stream; what one has launched comes before what the next one does. */
static void *crew_work(void *argument)
{
	struct crew *crew = argument;
	static _Atomic unsigned serial;
	unsigned self = serial++;

	for (uint32_t i = 0; i < 200; i++) {
		pthread_barrier_wait(&crew->barrier);
		if (i % THREADS == self)
			for (uint32_t j = 0; j < 10; j++) {
				kernel_fill(crew->words, i, WORDS, crew->stream);
				kernel_verify(crew->words, i, WORDS, crew->errors, crew->stream);
			}
		pthread_barrier_wait(&crew->barrier);
		if ((i + 1) % THREADS == self)
			kernel_verify(crew->words, i, WORDS, crew->errors, crew->stream);
		pthread_barrier_wait(&crew->barrier);
	}
	return NULL;
}

static void threads(void)
{
	struct crew crew = {.words = words_new(), .errors = errors_new(), .stream = stream_new()};
	pthread_t members[THREADS];

	pthread_barrier_init(&crew.barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&members[i], NULL, crew_work, &crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(members[i], NULL);
	printf("errors %u\n", errors_read(crew.errors));
}

static struct beside {
	cudaStream_t busy, other;
	uint32_t *errors;
	_Atomic bool done;
} beside;

/* Memory goes from one stream to the other. */
static void *beside_work(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t *words;

		NEED(cudaMallocAsync((void **)&words, WORDS * sizeof(*words), beside.busy));
		for (uint32_t j = 0; j < 4; j++)
			kernel_fill(words, 1000 + j, WORDS, beside.busy);
		NEED(cudaFreeAsync(words, beside.busy));
		NEED(cudaMallocAsync((void **)&words, WORDS * sizeof(*words), beside.other));
		kernel_fill(words, i, WORDS, beside.other);
		NEED(cudaStreamSynchronize(beside.other));
		kernel_verify(words, i, WORDS, beside.errors, beside.other);
		NEED(cudaStreamSynchronize(beside.other));
		NEED(cudaFreeAsync(words, beside.other));
	}
	beside.done = true;
	return NULL;
}

/* One thread waits, by the stream or the device, while another one launches and frees: what is freed and not yet submitted when the
 * wait begins is not idle when it ends. */
static void waits_beside(void)
{
	pthread_t thread;

	beside.errors = errors_new();
	beside.busy = stream_new();
	beside.other = stream_new();
	pthread_create(&thread, NULL, beside_work, NULL);
	for (unsigned i = 0; !beside.done; i++)
		NEED(i % 2 == 0 ? cudaStreamSynchronize(beside.busy) : cudaDeviceSynchronize());
	pthread_join(thread, NULL);
	printf("errors %u\n", errors_read(beside.errors));
}

/* A capture takes what is launched into it and nothing else. */
static void capture(void)
{
	cudaStream_t stream = stream_new(), other = stream_new();
	uint32_t *words = words_new(), *more = words_new(), *errors = errors_new();
	cudaGraphExec_t executable;
	cudaGraph_t graph;
	size_t nodes;

	for (uint32_t i = 0; i < 30; i++) {
		warm_up(words, stream);
		NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
		kernel_fill(words, 500 + i, WORDS, stream);
		kernel_fill(more, i, WORDS, other);
		kernel_verify(words, 500 + i, WORDS, errors, stream);
		NEED(cudaStreamEndCapture(stream, &graph));
		NEED(cudaGraphGetNodes(graph, NULL, &nodes));
		NEED(cudaGraphInstantiate(&executable, graph, 0));
		warm_up(words, stream);
		NEED(cudaGraphLaunch(executable, stream));
		kernel_verify(words, 500 + i, WORDS, errors, stream);
		NEED(cudaStreamSynchronize(stream));
		NEED(cudaGraphExecDestroy(executable));
		NEED(cudaGraphDestroy(graph));
	}
	printf("nodes %zu\n", nodes);
	say(errors, more);
}

/* Streams end with work queued, and new ones get their handles. */
static void streams(void)
{
	uint32_t *errors = errors_new();

	for (uint32_t i = 0; i < 60; i++) {
		cudaStream_t stream = stream_new();
		uint32_t *words = words_new();

		warm_up(words, stream);
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
		NEED(cudaStreamDestroy(stream));
		NEED(cudaFree(words));
	}
	printf("errors %u\n", errors_read(errors));
}

/* Times are those of the events that were recorded last. */
static void times(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	cudaEvent_t start, end;
	unsigned wrong = 0;
	float ms;

	NEED(cudaEventCreate(&start));
	NEED(cudaEventCreate(&end));
	for (uint32_t i = 0; i < 50; i++) {
		NEED(cudaEventRecord(start, stream));
		warm_up(words, stream);
		NEED(cudaEventRecord(end, stream));
		wrong += cudaEventQuery(end) == cudaSuccess && cudaEventElapsedTime(&ms, start, end) != cudaSuccess;
		NEED(cudaEventSynchronize(end));
		NEED(cudaEventElapsedTime(&ms, start, end));
		wrong += ms < 0;
	}
	printf("wrong %u\n", wrong);
}

/* Two devices, one after the other, in one thread. */
static void devices(void)
{
	uint32_t *words[2], *errors[2];
	cudaStream_t streams[2];

	for (int i = 0; i < 2; i++) {
		NEED(cudaSetDevice(i));
		words[i] = words_new();
		errors[i] = errors_new();
		streams[i] = i == 0 ? NULL : stream_new();
	}
	for (uint32_t i = 0; i < CHAIN; i++) {
		NEED(cudaSetDevice((int)(i / 7 % 2)));
		kernel_fill(words[i / 7 % 2], i, WORDS, streams[i / 7 % 2]);
		kernel_verify(words[i / 7 % 2], i, WORDS, errors[i / 7 % 2], streams[i / 7 % 2]);
	}
	for (int i = 0; i < 2; i++) {
		NEED(cudaSetDevice(i));
		say(errors[i], words[i]);
	}
}

/* What was launched before a fork is the parent's; the child cannot use the device, and may end as it likes. */
static void forks(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();
	int status;
	pid_t child;

	warm_up(words, stream);
	child = fork();
	if (child == 0)
		exit(3);
	kernel_fill(words, 7, WORDS, stream);
	kernel_verify(words, 7, WORDS, errors, stream);
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	say(errors, words);
}

/* Children that are made without fork(), as by clone(), have no thread of gpushim's to wait for, and end all the same. */
static void raw_forks(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();
	unsigned ended = 0;

	for (unsigned i = 0; i < 20; i++) {
		int status;
		pid_t child;

		warm_up(words, stream);
		child = (pid_t)syscall(SYS_fork);
		if (child == 0)
			exit(3);
		waitpid(child, &status, 0);
		ended += WIFEXITED(status) && WEXITSTATUS(status) == 3;
	}
	printf("ended %u\n", ended);
}

/* The work ends with the program, as the driver's own would: nothing waits, nothing hangs. */
static void exits(void)
{
	warm_up(words_new(), stream_new());
	printf("bye\n");
}

static void *launch_for_ever(void *argument)
{
	cudaStream_t stream = stream_new();

	for (;;)
		warm_up(argument, stream);
	return NULL;
}

/* The program ends while another thread launches. */
static void exits_busy(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, launch_for_ever, words_new());
	usleep(20000);
	printf("bye\n");
}

/* An attribute of the kernel changes between launches, or is set again to what it is. */
static void attribute(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), *errors = errors_new();
	unsigned refused = 0;

	for (uint32_t i = 0; i < CHAIN; i++) {
		if (i % 2 == 0)
			refused += cudaFuncSetAttribute((const void *)kernel_stub_fill,
							cudaFuncAttributeMaxDynamicSharedMemorySize,
							i / 500 % 2 == 0 ? 50000 : 60000) != cudaSuccess;
		kernel_fill(words, i, WORDS, stream);
		kernel_verify(words, i, WORDS, errors, stream);
	}
	cudaGetLastError();
	printf("errors %u, refused %u\n", errors_read(errors), refused);
}

static const char *library; /* argv[2] */

/* A library comes that calls the driver past gpushim, when nothing is put off or when something is. */
static void library_comes(bool busy)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new();

	warm_up(words, stream);
	if (!busy)
		NEED(cudaStreamSynchronize(stream));
	if (dlopen(library, RTLD_NOW) == NULL) {
		printf("no library: %s\n", dlerror());
		return;
	}
	for (unsigned i = 0; i < 10; i++)
		warm_up(words, stream);
	printf("first %u\n", first_of(words));
}

static void imports(void)
{
	library_comes(false);
}

static void imports_busy(void)
{
	library_comes(true);
}

/* Memory that was freed is there when a launch lacks some, which SIM_FAULT makes. */
static void lacks(void)
{
	void *memory;

	NEED(cudaMalloc(&memory, 64 << 20));
	NEED(cudaFree(memory));
	NEED(cudaDeviceSynchronize());
	chain();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"imports", imports}, {"imports_busy", imports_busy}, {"lacks", lacks},
	{"chain", chain},	  {"spin", spin},     {"turns", turns},	    {"legacy", legacy},	      {"per_thread", per_thread},
	{"refused", refused},	  {"params", params}, {"memory", memory},   {"callbacks", callbacks}, {"threads", threads},
	{"waits_beside", waits_beside},
	{"capture", capture},	  {"streams", streams}, {"times", times},   {"devices", devices},     {"forks", forks},
	{"raw_forks", raw_forks},
	{"exits", exits},	  {"exits_busy", exits_busy},		    {"attribute", attribute},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	kernels_register();
	library = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s\n", cases[i].name);
	return 0;
}
