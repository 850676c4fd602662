/* Rule: queued work runs although the program makes no further call, so a program may wait on what its host function
 * or its copy writes. */
#include <pthread.h>
#include <time.h>

#include "tests/conformance/rule_drv.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int done;

static void host_function(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_signal(&arrived);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	struct timespec until;
	unsigned *pinned;
	CUdeviceptr a;

	rule_start();
	NEED(cuMemAlloc(&a, 64));
	NEED(cuMemAllocHost((void **)&pinned, 64));
	*pinned = 0;
	NEED(cuMemsetD32Async(a, 8, 16, NULL));
	NEED(cuMemcpyDtoHAsync(pinned, a, 64, NULL));
	NEED(cuLaunchHostFunc(NULL, host_function, NULL));
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&lock);
	while (!done && pthread_cond_timedwait(&arrived, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
	WANT(done, 1);
	WANT(*pinned, 8);
	return rule_broken;
}
