/* Contexts that come and go, also under the handle of one that is gone; what one of them had is nobody else's. Prints
 * what the memory of each holds. */
#define __CUDA_API_VERSION_INTERNAL
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/preload/own.h"
#include "tests/sim/sim.h"

#define BYTES (8u << 20)
#define ROUNDS 6

#define NEED(call)                                                                                                     \
	do {                                                                                                           \
		CUresult result_ = (call);                                                                             \
		if (result_ != CUDA_SUCCESS) {                                                                         \
			printf("line %d: " #call " gives %d\n", __LINE__, (int)result_);                               \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static unsigned word(CUdeviceptr memory)
{
	unsigned value = 0;

	NEED(cuMemcpyDtoH_v2(&value, memory + BYTES - 4, 4));
	return value;
}

/* What the first context freed is not for the second, which outlives it. */
static void lent(void)
{
	CUcontext first, second;
	CUdeviceptr memory;

	NEED(cuCtxCreate_v2(&first, 0, 0));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize());
	NEED(cuCtxCreate_v2(&second, 0, 0));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemsetD32_v2(memory, 41, BYTES / 4));
	NEED(cuCtxDestroy_v2(first));
	printf("memory of the second context: %u\n", word(memory));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxDestroy_v2(second));
}

/* Work of a context that ends, and memory that it never frees; the next one may have its handle. */
static void again(void)
{
	CUdeviceptr kept, pooled, freed, old = 0;
	CUcontext context, before = NULL;
	unsigned handles = 0, stale = 0;
	CUstream stream;

	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(cuCtxCreate_v2(&context, 0, 0));
		handles += context == before;
		before = context;
		stale += old != 0 && cuMemFree_v2(old) == CUDA_SUCCESS;
		NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		NEED(cuMemAlloc_v2(&kept, BYTES));
		NEED(cuMemAlloc_v2(&freed, BYTES));
		NEED(cuMemAllocAsync(&pooled, BYTES, stream));
		NEED(cuMemsetD32Async(freed, 7, BYTES / 4, stream));
		NEED(cuMemsetD32Async(pooled, i, BYTES / 4, stream));
		NEED(cuMemsetD32Async(kept, 100 + i, BYTES / 4, stream));
		NEED(cuMemFree_v2(freed));
		NEED(cuStreamSynchronize(stream));
		printf("round %u: %u and %u\n", i, word(kept), word(pooled));
		NEED(cuMemFreeAsync(pooled, stream));
		NEED(cuCtxDestroy_v2(context));
		old = kept;
	}
	printf("memory of a context that is gone was freed %u times\n", stale);
	fprintf(stderr, "the same handle %u times\n", handles);
}

/* What waits for work of two contexts comes back when one of them has ended and another has its handle. */
static void outlived(void)
{
	CUcontext lasting, passing, next;
	CUdeviceptr memory, more, again;
	unsigned steps = 1000;
	CUfunction delay;
	CUmodule module;
	CUstream stream;

	NEED(cuCtxCreate_v2(&lasting, 0, 0));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&delay, module, "sim_delay"));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuCtxCreate_v2(&passing, 0, 0));
	NEED(cuCtxSetCurrent(lasting));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuLaunchKernel(delay, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
	NEED(cuMemFree_v2(memory));
	NEED(cuMemAlloc_v2(&more, BYTES));
	NEED(cuCtxDestroy_v2(passing));
	NEED(cuCtxCreate_v2(&next, 0, 0));
	NEED(cuCtxSetCurrent(lasting));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemAlloc_v2(&again, BYTES));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && (more == memory || again != memory))
		printf("what was freed comes back %s\n", more == memory ? "early" : "never");
	if (next != passing)
		printf("another handle\n");
	NEED(cuCtxDestroy_v2(next));
	NEED(cuCtxDestroy_v2(lasting));
}

/* One has ended that nobody saw end: what is freed afterwards waits for the others only. */
static void unseen(void)
{
	CUresult (*destroy)(CUcontext);
	CUcontext lasting, passing;
	CUdeviceptr memory, more, again;
	unsigned steps = 1000;
	CUfunction delay;
	CUmodule module;
	CUstream stream;

	NEED(cuCtxCreate_v2(&passing, 0, 0));
	NEED(cuCtxCreate_v2(&lasting, 0, 0));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&delay, module, "sim_delay"));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	*(void **)&destroy = own_dlsym(own_library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "cuCtxDestroy_v2");
	NEED(destroy(passing));
	NEED(cuLaunchKernel(delay, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
	NEED(cuMemFree_v2(memory));
	NEED(cuMemAlloc_v2(&more, BYTES));
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemAlloc_v2(&again, BYTES));
	if (dlsym(RTLD_DEFAULT, "gpushim_stats") != NULL && (more == memory || again != memory))
		printf("what was freed comes back %s\n", more == memory ? "early" : "never");
	NEED(cuCtxDestroy_v2(lasting));
}

static pthread_t main_thread;
static CUdeviceptr kept_free;
static _Atomic bool ready, ended, answered, early;

static void *free_again(void *unused)
{
	CUcontext own;
	CUresult result;

	NEED(cuCtxCreate_v2(&own, 0, 0));
	ready = true;
	while (!ended)
		usleep(1000);
	result = cuMemFree_v2(kept_free);
	answered = true;
	printf("freed again: %d\n", result);
	NEED(cuCtxDestroy_v2(own));
	return unused;
}

/* Under the lock of the simulated driver: a context has ended, and gpushim asks whether it has. */
static void watch(const char *function)
{
	static bool released;

	if (!pthread_equal(pthread_self(), main_thread))
		return;
	released |= strncmp(function, "cuDevicePrimaryCtxRelease", strlen("cuDevicePrimaryCtxRelease")) == 0;
	if (!released || strcmp(function, "cuDevicePrimaryCtxGetState") != 0 || ended)
		return;
	ended = true;
	for (unsigned ms = 0; ms < 50 && !answered; ms++)
		usleep(1000);
	early = answered;
}

/* Memory of a context that ends just now: whether it is ours is told when it has ended. */
static void ending(void)
{
	sim_call_watch_fn *call_watch;
	CUcontext context;
	pthread_t thread;

	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	NEED(cuMemAlloc_v2(&kept_free, BYTES));
	NEED(cuMemFree_v2(kept_free));
	main_thread = pthread_self();
	*(void **)&call_watch = sim_find("sim_call_watch");
	call_watch(watch);
	pthread_create(&thread, NULL, free_again, NULL);
	while (!ready)
		usleep(1000);
	NEED(cuDevicePrimaryCtxRelease_v2(0));
	ended = true;
	pthread_join(thread, NULL);
	call_watch(NULL);
	if (early)
		printf("answered early\n");
}

int main(int argc, char **argv)
{
	NEED(cuInit(0));
	if (argc > 1 && strcmp(argv[1], "unseen") == 0) {
		unseen();
		return 0;
	}
	outlived();
	ending();
	lent();
	again();
	return 0;
}
