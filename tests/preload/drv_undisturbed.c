/* What the shim does in a thread leaves the thread as it was: its mode of capture, its current context, whether it may
 * be cancelled. And what fails on the way leaves nothing behind. Exits 1, and says where, if not. */
#define __CUDA_API_VERSION_INTERNAL
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "shim/gpushim.h"
#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { BYTES = 8 << 20, PIECES = 8, FAILURES = 20 };

static CUcontext first, second; /* of device 0, and of the last one */
static CUstream stream;
static CUfunction kernel;
static bool wrong;

static void *shim(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);

	if (found != NULL)
		return found;
	printf("needs the shim: %s\n", symbol);
	exit(2);
}

static void undisturbed(const char *where, CUcontext wanted)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, ours;
	CUcontext current = NULL;
	int cancel = -1;

	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	ours = mode;
	NEED(cuThreadExchangeStreamCaptureMode(&mode));
	NEED(cuCtxGetCurrent(&current));
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
	if (ours == CU_STREAM_CAPTURE_MODE_GLOBAL && current == wanted && cancel == PTHREAD_CANCEL_ENABLE)
		return;
	printf("%s: mode %d, %s context, cancellation %d\n", where, ours, current == wanted ? "its own" : "another",
	       cancel);
	wrong = true;
}

static void trim(void)
{
	__typeof__(gpushim_trim) *gpushim_trim_;

	*(void **)&gpushim_trim_ = shim("gpushim_trim");
	gpushim_trim_(0, 0);
}

static void use(CUdeviceptr memory)
{
	unsigned steps = 30;

	NEED(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}, NULL));
	NEED(cuMemsetD8Async(memory, 1, BYTES, stream));
}

/* Given back by a thread without a context: memory of the device and of the host. */
static void *elsewhere(void *unused)
{
	sim_fault_arm_fn *fault_arm;
	sim_calls_fn *calls;
	unsigned long before;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&calls = sim_find("sim_calls");
	fault_arm("cuMemFreeHost", 1, CUDA_ERROR_INVALID_CONTEXT); /* as a driver may */
	before = calls("cuMemFreeHost");
	trim();
	fault_arm("cuMemFreeHost", 0, 0);
	undisturbed("a thread without a context", NULL);
	if (second == first && calls("cuMemFreeHost") == before) {
		printf("a thread without a context gives no memory of the host back\n");
		wrong = true;
	}
	return unused;
}

static void given_back(void)
{
	CUdeviceptr memory;
	pthread_t thread;
	void *host;

	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize());
	trim();
	undisturbed("given back", first);
	NEED(cuMemHostAlloc(&host, BYTES, 0));
	NEED(cuMemFreeHost(host));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemFree_v2(memory));
	NEED(cuCtxSynchronize());
	if (pthread_create(&thread, NULL, elsewhere, NULL) != 0 || pthread_join(thread, NULL) != 0)
		exit(2);
}

/* Free pieces serve a large request at addresses of its own, which are given back, too. */
static void stitched(void)
{
	CUdeviceptr pieces[PIECES], live[PIECES], large;

	for (unsigned i = 0; i < PIECES; i++) {
		NEED(cuMemAlloc_v2(&pieces[i], BYTES));
		NEED(cuMemAlloc_v2(&live[i], BYTES));
	}
	for (unsigned i = 0; i < PIECES; i++)
		NEED(cuMemFree_v2(pieces[i]));
	NEED(cuCtxSynchronize());
	NEED(cuMemAlloc_v2(&large, PIECES * BYTES));
	undisturbed("stitched", first);
	NEED(cuMemFree_v2(large));
	NEED(cuCtxSynchronize());
	trim();
	undisturbed("given back in pieces", first);
	for (unsigned i = 0; i < PIECES; i++)
		NEED(cuMemFree_v2(live[i]));
}

/* The driver lacks memory, and the shim waits for what was freed before it gives it back. */
static void waited_for(void)
{
	sim_fault_arm_fn *fault_arm;
	CUdeviceptr memory;
	CUstream another;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	NEED(cuMemAlloc_v2(&memory, BYTES));
	use(memory);
	NEED(cuMemFree_v2(memory));
	fault_arm("cuStreamCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
	NEED(cuStreamCreate(&another, CU_STREAM_NON_BLOCKING));
	undisturbed("waited for", first);
	NEED(cuStreamDestroy_v2(another));
}

/* What is freed on it gets its event all the same. */
static void stream_ended_in_a_capture(void)
{
	unsigned steps = 30;
	CUdeviceptr memory;
	CUstream another;
	CUgraph graph;

	NEED(cuStreamCreate(&another, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAllocAsync(&memory, BYTES, another));
	NEED(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, another, (void *[]){&steps}, NULL));
	NEED(cuMemFreeAsync(memory, another));
	NEED(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	NEED(cuStreamDestroy_v2(another));
	undisturbed("a stream ended in a capture", first);
	NEED(cuStreamEndCapture(stream, &graph));
	NEED(cuGraphDestroy(graph));
}

/* A free waits in the context of the memory, not in that of the thread (H4); it need not wait twice. */
static void freed_elsewhere(void)
{
	static unsigned char *host;
	sim_fault_arm_fn *fault_arm;
	sim_calls_fn *calls;
	CUdeviceptr early, memory, more;
	unsigned long before, events;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&calls = sim_find("sim_calls");
	NEED(cuMemHostAlloc((void **)&host, BYTES, 0));
	NEED(cuMemAlloc_v2(&early, BYTES));
	NEED(cuMemAlloc_v2(&memory, BYTES));
	NEED(cuMemAlloc_v2(&more, BYTES));
	use(memory);
	NEED(cuMemFree_v2(early));
	NEED(cuMemcpyDtoHAsync_v2(host, memory, BYTES, stream));
	NEED(cuCtxSetCurrent(second));
	fault_arm("cuCtxPopCurrent_v2", 1, CUDA_ERROR_UNKNOWN);
	NEED(cuMemFree_v2(memory));
	fault_arm("cuCtxPopCurrent_v2", 0, 0);
	undisturbed("freed elsewhere", second);
	NEED(cuCtxSetCurrent(first));
	if (host[BYTES - 1] != 1) {
		printf("freed elsewhere: it did not wait\n");
		wrong = true;
	}
	events = calls("cuCtxRecordEvent");
	before = calls("cuCtxSynchronize");
	NEED(cuMemAlloc_v2(&memory, BYTES));
	if (second == first && (memory != early || calls("cuCtxRecordEvent") != events)) {
		printf("the wait of a free told nothing of what was freed before\n");
		wrong = true;
	}
	NEED(cuMemFree_v2(more));
	NEED(cuMemAlloc_v2(&more, BYTES));
	if (second == first && calls("cuCtxSynchronize") != before) {
		printf("a free waits for what a free has waited for\n");
		wrong = true;
	}
	NEED(cuMemcpyDtoHAsync_v2(host, memory, BYTES, stream));
	NEED(cuCtxSynchronize());
	before = calls("cuCtxSynchronize");
	NEED(cuMemFree_v2(memory));
	NEED(cuMemFree_v2(more));
	if (second == first && calls("cuCtxSynchronize") != before) {
		printf("a free waits for what has been waited for\n");
		wrong = true;
	}
	NEED(cuMemFreeHost(host));
}

/* Events that were made for a fence that failed are used for the next. */
static void fences_fail(const char *function)
{
	sim_fault_arm_fn *fault_arm;
	sim_held_fn *held;
	size_t before = 0;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	*(void **)&held = sim_find("sim_held");
	for (unsigned i = 0; i < FAILURES; i++) {
		CUdeviceptr memory, more;

		NEED(cuMemAlloc_v2(&memory, BYTES));
		use(memory);
		NEED(cuMemFree_v2(memory));
		fault_arm(function, 1 + i % 2, CUDA_ERROR_UNKNOWN);
		NEED(cuMemAlloc_v2(&more, BYTES));
		trim();
		fault_arm(function, 0, 0);
		NEED(cuCtxSynchronize());
		NEED(cuMemFree_v2(more));
		NEED(cuCtxSynchronize());
		trim();
		if (i == 3)
			before = held(SIM_HELD_EVENTS);
	}
	if (held(SIM_HELD_EVENTS) > before + 2) {
		printf("fences that failed in %s keep %zu events\n", function, held(SIM_HELD_EVENTS) - before);
		wrong = true;
	}
}

int main(int argc, char **argv)
{
	void (*check_fences)(void);
	CUmodule module;
	int devices;

	(void)argv;
	NEED(cuInit(0));
	NEED(cuDeviceGetCount(&devices));
	if (argc > 1)
		NEED(cuCtxCreate_v2(&second, 0, devices - 1));
	NEED(cuCtxCreate_v2(&first, 0, 0));
	if (argc == 1)
		second = first;
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&kernel, module, "sim_delay"));
	given_back();
	stitched();
	waited_for();
	stream_ended_in_a_capture();
	freed_elsewhere();
	fences_fail("cuCtxRecordEvent");
	fences_fail("cuCtxPushCurrent_v2");
	*(void **)&check_fences = dlsym(RTLD_DEFAULT, "gpushim_check_fences"); /* of the checking build */
	if (check_fences != NULL)
		check_fences();
	return wrong;
}
