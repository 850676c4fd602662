/* Rule: host functions run in the order of their stream and on another thread than the caller's, so that a program may
 * hold a lock around a driver call that its host function takes too. */
#include <pthread.h>

#include "tests/conformance/rule_drv.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t ran_on;
static unsigned seen;
static unsigned *pinned;

static void host_function(void *data)
{
	pthread_mutex_lock(&lock);
	seen = *pinned + (unsigned)(uintptr_t)data;
	ran_on = pthread_self();
	pthread_mutex_unlock(&lock);
}

static void callback(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	if (status == CUDA_SUCCESS)
		*(unsigned *)data += 1;
}

int main(void)
{
	unsigned called = 0;
	CUdeviceptr a;
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAllocHost((void **)&pinned, 64));
	NEED(cuMemsetD32Async(a, 40, 16, stream));
	NEED(cuMemcpyDtoHAsync(pinned, a, 64, stream));
	NEED(cuLaunchHostFunc(stream, host_function, (void *)2));
	NEED(cuMemsetD32Async((CUdeviceptr)(uintptr_t)pinned, 1, 16, stream));
	NEED(cuStreamAddCallback(stream, callback, &called, 0));
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 100; i++)
		cuStreamQuery(stream);
	pthread_mutex_unlock(&lock);
	NEED(cuStreamSynchronize(stream));
	WANT(seen, 42);
	WANT(called, 1);
	WANT(*pinned, 1);
	WANT(pthread_equal(ran_on, pthread_self()), 0);
	return rule_broken;
}
