/* What ends graphs that launches were made by (shim/submit/graph.h): when such a call reaches the driver, none is left; afterwards
 * launches that repeat are made by others, unless the call was one after which none may be made. One row a run: argv[1].
 * Wants graph:auto and the debug build, which makes graphs of whatever repeats. Without words prints the names of the rows. Exits 1,
 * and says why, where something is not as it should be. */
#define __CUDA_API_VERSION_INTERNAL
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/preload/need.h"
#include "tests/sim/sim.h"

enum { LAUNCHES = 700, WORDS = 64 };

static CUcontext context, passing;
static CUstream stream, other;
static CUmodule module;
static CUlibrary library;
static CUfunction fill;
static CUkernel kernel;
static CUdeviceptr words;
static pthread_t main_thread;
static const char *awaited;
static _Atomic long graphs, execs, made; /* by others than the program: that there are, and instantiations so far */
static _Atomic long graphs_then, execs_then;

/* Under the lock of the simulated driver. */
static void watch(const char *function)
{
	if (pthread_equal(pthread_self(), main_thread)) {
		if (awaited == NULL || strcmp(function, awaited) != 0)
			return;
		graphs_then = graphs;
		execs_then = execs;
		awaited = NULL;
		return;
	}
	graphs += strcmp(function, "cuGraphCreate") == 0;
	graphs -= strcmp(function, "cuGraphDestroy") == 0;
	execs += strcmp(function, "cuGraphInstantiateWithFlags") == 0;
	made += strcmp(function, "cuGraphInstantiateWithFlags") == 0;
	execs -= strcmp(function, "cuGraphExecDestroy") == 0;
}

static CUresult by_unload(void)
{
	CUmodule another;

	NEED(cuModuleLoadData(&another, "simulated"));
	return cuModuleUnload(another);
}

static CUresult by_library_unload(void)
{
	return cuLibraryUnload(library);
}

static CUresult by_context(void)
{
	return cuCtxDestroy_v2(passing);
}

static CUresult by_attribute(void)
{
	return cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
}

static CUresult by_kernel_attribute(void)
{
	return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, 0);
}

static CUresult by_function(void)
{
	return cuFuncSetCacheConfig(fill, CU_FUNC_CACHE_PREFER_L1);
}

static CUresult by_lack(void)
{
	CUdeviceptr memory;
	size_t bytes;

	NEED(cuDeviceTotalMem_v2(&bytes, 0));
	return cuMemAlloc_v2(&memory, bytes);
}

/* The driver lacks it, for something else. */
static CUresult by_lack_elsewhere(void)
{
	sim_fault_arm_fn *fault_arm;
	CUmodule another;

	*(void **)&fault_arm = sim_find("sim_fault_arm");
	fault_arm("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
	return cuModuleLoadData(&another, "simulated");
}

static CUresult by_stream_attribute(void)
{
	CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_AUTO};

	return cuStreamSetAttribute(other, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
}

static CUresult by_stream_attribute_per_thread(void)
{
	CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_AUTO};
	__typeof__(cuStreamSetAttribute) *set = (__typeof__(set))dlsym(RTLD_DEFAULT, "cuStreamSetAttribute_ptsz");

	return set(other, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
}

static CUresult by_stream_copy(void)
{
	return cuStreamCopyAttributes(other, stream);
}

static CUresult by_stream_copy_per_thread(void)
{
	__typeof__(cuStreamCopyAttributes) *copy = (__typeof__(copy))dlsym(RTLD_DEFAULT, "cuStreamCopyAttributes_ptsz");

	return copy(other, stream);
}

/* Those that change nothing for graphs. */
static CUresult by_priority(void)
{
	CUstreamAttrValue value = {.priority = 0};

	return cuStreamSetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
}

static CUresult by_policy(void)
{
	CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD};

	return cuStreamSetAttribute(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
}

enum then {
	AGAIN, /* others are made afterwards */
	NEVER, /* none */
	STAY,  /* the call ends none */
};

static const struct row {
	const char *name, *function; /* NULL: they are to be gone when the call returns */
	CUresult (*call)(void);
	enum then then;
} rows[] = {
	{"unload", "cuModuleUnload", by_unload, AGAIN},
	{"unload_library", "cuLibraryUnload", by_library_unload, AGAIN},
	{"context", "cuCtxDestroy_v2", by_context, AGAIN},
	{"attribute", "cuFuncSetAttribute", by_attribute, AGAIN},
	{"attribute_of_kernel", "cuKernelSetAttribute", by_kernel_attribute, AGAIN},
	{"function", "cuFuncSetCacheConfig", by_function, AGAIN},
	{"lack", NULL, by_lack, AGAIN},
	{"lack_elsewhere", NULL, by_lack_elsewhere, AGAIN},
	{"stream_attribute", "cuStreamSetAttribute", by_stream_attribute, NEVER},
	{"stream_attribute_ptsz", "cuStreamSetAttribute_ptsz", by_stream_attribute_per_thread, NEVER},
	{"stream_copy", "cuStreamCopyAttributes", by_stream_copy, NEVER},
	{"stream_copy_ptsz", "cuStreamCopyAttributes_ptsz", by_stream_copy_per_thread, NEVER},
	{"stream_priority", "cuStreamSetAttribute", by_priority, STAY},
	{"stream_policy", "cuStreamSetAttribute", by_policy, STAY},
};

/* What the last one fills the words with is seen. */
static void launch_all(void)
{
	static uint32_t value;
	uint64_t count = WORDS;
	uint32_t found;

	for (unsigned i = 0; i < LAUNCHES; i++) {
		value++;
		NEED(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&words, &value, &count}, NULL));
	}
	NEED(cuStreamSynchronize(stream));
	NEED(cuMemcpyDtoH_v2(&found, words + (WORDS - 1) * 4, 4));
	if (found != value) {
		printf("the words hold %u, not %u\n", found, value);
		exit(1);
	}
}

static void check(bool right, const char *what)
{
	if (right)
		return;
	printf("%s: %ld graphs, %ld executable, %ld made\n", what, graphs, execs, made);
	exit(1);
}

static void try(const struct row *row)
{
	long made_before;

	launch_all();
	check(graphs > 0 && execs > 0, "none before");
	awaited = row->function;
	row->call();
	if (row->function == NULL) {
		graphs_then = graphs;
		execs_then = execs;
	}
	check(awaited == NULL, "the driver was not called");
	if (row->then == STAY)
		check(graphs_then > 0 && execs_then > 0, "ended for nothing");
	else
		check(graphs_then == 0 && execs_then == 0, "left");
	made_before = made;
	launch_all();
	launch_all();
	if (row->then == AGAIN)
		check(made > made_before, "none afterwards");
	else
		check(made == made_before, "some were made afterwards");
	if (row->then == NEVER)
		check(graphs == 0, "left for good");
}

int main(int argc, char **argv)
{
	sim_call_watch_fn *call_watch;

	for (size_t i = 0; argc == 1 && i < sizeof(rows) / sizeof(rows[0]); i++)
		puts(rows[i].name);
	if (argc == 1)
		return 0;
	main_thread = pthread_self();
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&passing, 0, 0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&fill, module, "sim_fill"));
	NEED(cuLibraryLoadData(&library, "simulated", NULL, NULL, 0, NULL, NULL, 0));
	NEED(cuLibraryGetKernel(&kernel, library, "sim_delay"));
	NEED(cuMemAlloc_v2(&words, WORDS * 4));
	*(void **)&call_watch = sim_find("sim_call_watch");
	call_watch(watch);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, argv[1]) == 0) {
			try(&rows[i]);
			return 0;
		}
	return 2;
}
