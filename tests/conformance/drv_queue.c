/* Rule: a stream that does not get on takes some hundred operations at least, and some thousand at most: then the call
 * that brings one more waits. Here a thread lets the stream go on when nothing was added for a while. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define MOST 100000

static _Atomic unsigned *gate;
static atomic_int submitted;
static int stopped_at;

/* Opens the gate when no operation has been added for a while. */
static void *watch(void *unused)
{
	int seen = -1, now;

	while ((now = atomic_load(&submitted)) != seen || now == 0) {
		seen = now;
		usleep(300000);
	}
	stopped_at = now;
	*gate = 1;
	return unused;
}

int main(void)
{
	CUdeviceptr memory, mapped;
	unsigned value = 0;
	pthread_t watcher;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&memory, 64));
	NEED(cuMemHostAlloc((void **)&gate, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	NEED(cuMemHostGetDevicePointer(&mapped, (void *)gate, 0));
	*gate = 0;
	NEED(pthread_create(&watcher, NULL, watch, NULL));
	NEED(cuStreamWaitValue32(stream, mapped, 1, CU_STREAM_WAIT_VALUE_EQ));
	while (atomic_load(&submitted) < MOST && *gate == 0) {
		NEED(cuMemsetD32Async(memory, (unsigned)atomic_load(&submitted), 1, stream));
		atomic_fetch_add(&submitted, 1);
	}
	NEED(pthread_join(watcher, NULL));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH(&value, memory, sizeof(value)));
	WANT(value, atomic_load(&submitted) - 1);
	WANT(stopped_at >= 100, 1);
	WANT(stopped_at < MOST, 1);
	if (rule_broken || getenv("RULE_TELL"))
		printf("the queue was full after %d operations\n", stopped_at);
	return rule_broken;
}
