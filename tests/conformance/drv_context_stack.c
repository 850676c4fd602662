/* Rule: each thread has a stack of current contexts; creating pushes, popping uncovers, destroying the top pops. */
#include <pthread.h>

#include "tests/conformance/rule_drv.h"

static void *other_thread(void *unused)
{
	CUcontext current = (CUcontext)1;

	NEED(cuCtxGetCurrent(&current));
	WANT(current == NULL, 1);
	return unused;
}

int main(void)
{
	CUcontext first, second, current;
	CUdevice device = -1;
	pthread_t thread;

	NEED(cuInit(0));
	NEED(cuCtxCreate(&first, NULL, 0, 0));
	NEED(cuCtxCreate(&second, NULL, 0, 0));
	NEED(cuCtxGetCurrent(&current));
	WANT(current == second, 1);
	NEED(cuCtxGetDevice(&device));
	WANT(device, 0);
	NEED(pthread_create(&thread, NULL, other_thread, NULL));
	pthread_join(thread, NULL);
	NEED(cuCtxPopCurrent(&current));
	WANT(current == second, 1);
	NEED(cuCtxGetCurrent(&current));
	WANT(current == first, 1);
	NEED(cuCtxPushCurrent(second));
	NEED(cuCtxDestroy(second));
	NEED(cuCtxGetCurrent(&current));
	WANT(current == first, 1);
	NEED(cuCtxSetCurrent(NULL));
	NEED(cuCtxGetCurrent(&current));
	WANT(current == NULL, 1);
	WANT(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT);
	NEED(cuCtxDestroy(first));
	return rule_broken;
}
