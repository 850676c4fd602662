/* Rule: memory that is freed in the order of the legacy default stream comes after all that blocking streams were given before, and
 * before all that they are given afterwards. So whoever gets it next, in that order, may use it on any of them: be they made, or
 * the threads' own, by whatever name. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define WORDS 4096ull
#define BYTES (WORDS * sizeof(unsigned))

CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t count, CUstream stream);

/* What writes 1, late. */
static void write_late(CUstream stream, CUdeviceptr to)
{
	rule_delay(stream, 2000);
	rule_fill(stream, to, 1, WORDS);
}

static void on_made(CUdeviceptr to)
{
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	write_late(stream, to);
}

static void on_prior(CUdeviceptr to)
{
	CUstream stream;

	NEED(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, -1));
	write_late(stream, to);
}

static void on_own(CUdeviceptr to)
{
	write_late(CU_STREAM_PER_THREAD, to);
}

/* Late by an event of a stream that takes no part. */
static CUevent late_event(void)
{
	CUstream aside;
	CUevent event;

	NEED(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	rule_delay(aside, 2000);
	NEED(cuEventRecord(event, aside));
	return event;
}

static void on_own_by_event(CUdeviceptr to)
{
	NEED(cuStreamWaitEvent(CU_STREAM_PER_THREAD, late_event(), 0));
	NEED(cuMemsetD32Async(to, 1, WORDS, CU_STREAM_PER_THREAD));
}

static void on_own_by_twin(CUdeviceptr to)
{
	CUevent event = late_event();
	CUresult (*wait)(CUstream, CUevent, unsigned) = NULL;

	NEED(cuGetProcAddress("cuStreamWaitEvent", (void **)&wait, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	NEED(wait(NULL, event, 0));
	NEED(cuMemsetD32Async_ptsz(to, 1, WORDS, NULL));
}

static void (*const ways[])(CUdeviceptr to) = {on_made, on_prior, on_own, on_own_by_event, on_own_by_twin};

#define WAYS (sizeof(ways) / sizeof(*ways))

/* What is left by those that write after each other. */
static void ask(size_t way, int plain)
{
	CUdeviceptr first, second;
	unsigned value = 0;
	CUstream after;

	NEED(plain ? cuMemAlloc(&first, BYTES) : cuMemAllocAsync(&first, BYTES, NULL));
	NEED(cuCtxSynchronize());
	ways[way](first);
	NEED(cuMemFreeAsync(first, NULL));
	NEED(cuMemAllocAsync(&second, BYTES, NULL));
	NEED(cuStreamCreate(&after, CU_STREAM_DEFAULT)); /* not before the free: no blocking stream but that of the way is there */
	rule_fill(after, second, 2, WORDS);
	NEED(cuCtxSynchronize());
	NEED(cuMemcpyDtoH(&value, second, sizeof(value)));
	WANT(value, 2);
	NEED(cuMemFreeAsync(second, NULL));
}

static pid_t start(char *program, size_t way)
{
	pid_t child = fork();
	char number[8];

	if (child == 0) {
		snprintf(number, sizeof(number), "%zu", way);
		execl("/proc/self/exe", program, number, (char *)NULL);
		exit(1);
	}
	return child;
}

/* Each way in a process that has used no other; side by side, for on some machines it takes long to start. */
int main(int count, char **arguments)
{
	pid_t children[WAYS];
	int status, absent = 0;

	if (count == 2) {
		rule_start();
		rule_kernel("sim_fill");
		for (int round = 0; round < 4; round++)
			ask((size_t)atoi(arguments[1]), round / 2);
		return rule_broken;
	}
	for (size_t way = 0; way < WAYS; way++)
		children[way] = start(arguments[0], way);
	for (size_t way = 0; way < WAYS; way++) {
		WANT(waitpid(children[way], &status, 0), children[way]);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
			absent = 1;
			continue;
		}
		WANT(status, 0);
		if (status != 0)
			printf("way %zu\n", way);
	}
	return absent ? 77 : rule_broken;
}
