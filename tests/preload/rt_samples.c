/* Kernels that take 100 and 1000 steps of the simulated device, long enough to be sampled, on a stream of the program's: `own`, one
 * that does not wait for the default one; `default`, the default one; `both`, the default one, once a stream that waits for it was
 * used; `capture`, a stream that captures all the time;
 * `ways`, launched in three other ways; `apart`, launches that may begin before the one ahead has ended;
 * `reset`, the short one, and after a reset of the device the long one;
 * `steps`, with a block of memory and a wait in each step. The second word is how many
 * seconds it runs. */
#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>

#include <cuda.h>

#include "tests/preload/kernel.h"

#define APART __attribute__((noinline, noclone))

static APART void short_one(cudaStream_t stream)
{
	kernel_delay(100, stream);
	__asm__ volatile("# short");
}

static APART void long_one(cudaStream_t stream)
{
	kernel_delay(1000, stream);
	__asm__ volatile("# long");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void capture(cudaStream_t stream)
{
	cudaGraph_t graph;

	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (unsigned i = 0; i < 20; i++)
		short_one(stream);
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphDestroy(graph));
}

static void reset(cudaStream_t *stream, double when)
{
	while (seconds() < when) {
		short_one(*stream);
		NEED(cudaDeviceSynchronize());
	}
	NEED(cudaDeviceReset());
	*stream = stream_new();
	while (seconds() < when + 0.2) {
		long_one(*stream);
		NEED(cudaDeviceSynchronize());
	}
}

static void step(cudaStream_t stream)
{
	void *memory;

	NEED(cudaMalloc(&memory, 3 << 20));
	short_one(stream);
	long_one(stream);
	NEED(cudaDeviceSynchronize());
	NEED(cudaFree(memory));
}

/* Of the driver; NULL until it is loaded. */
static void *driver(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

#define DRIVER(function) ((__typeof__(function) *)driver(#function))
#define NEED_DRIVER(call) do { if ((call) != CUDA_SUCCESS) { puts(#call); exit(2); } } while (0)

static CUfunction function;
static cudaGraphExec_t executable;

static void ways_begin(cudaStream_t stream)
{
	cudaGraph_t graph;
	CUmodule module;

	NEED_DRIVER(DRIVER(cuModuleLoadData)(&module, "simulated"));
	NEED_DRIVER(DRIVER(cuModuleGetFunction)(&function, module, "sim_delay"));
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	short_one(stream);
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphInstantiate(&executable, graph, 0));
}

static APART void extended(cudaStream_t stream, CUlaunchAttribute *attribute)
{
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				 .hStream = stream, .attrs = attribute, .numAttrs = attribute != NULL};
	uint32_t steps = 100;

	NEED_DRIVER(DRIVER(cuLaunchKernelEx)(&config, function, (void *[]){&steps}, NULL));
}

static APART void cooperative(cudaStream_t stream)
{
	uint32_t steps = 100;

	NEED_DRIVER(DRIVER(cuLaunchCooperativeKernel)(function, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&steps}));
}

static void ways(cudaStream_t stream)
{
	CUlaunchAttribute nothing = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};

	extended(stream, &nothing);
	cooperative(stream);
	NEED(cudaGraphLaunch(executable, stream));
	NEED(cudaDeviceSynchronize());
}

static void apart(cudaStream_t stream)
{
	CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
	CUlaunchAttribute marked = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT};

	extended(stream, &early);
	extended(stream, &marked);
	NEED(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	bool is_default = strcmp(how, "default") == 0 || strcmp(how, "both") == 0 || strcmp(how, "steps") == 0;
	cudaStream_t stream = is_default ? NULL : stream_new(), other;
	double end = seconds() + (argc > 2 ? atof(argv[2]) : 1);
	void *memory;

	kernels_register();
	if (strcmp(how, "both") == 0) {
		NEED(cudaStreamCreate(&other));
		NEED(cudaMalloc(&memory, 4));
		NEED(cudaMemsetAsync(memory, 0, 4, other));
	}
	if (strcmp(how, "ways") == 0 || strcmp(how, "apart") == 0)
		ways_begin(stream);
	while (seconds() < end) {
		if (executable != NULL) {
			(how[0] == 'w' ? ways : apart)(stream);
			continue;
		}
		if (strcmp(how, "capture") == 0) {
			capture(stream);
			continue;
		}
		if (strcmp(how, "steps") == 0) {
			step(stream);
			continue;
		}
		if (strcmp(how, "reset") == 0) {
			reset(&stream, end - 0.2);
			continue;
		}
		for (unsigned i = 0; i < 20; i++) {
			short_one(stream);
			long_one(stream);
		}
		NEED(cudaDeviceSynchronize());
	}
	return 0;
}
