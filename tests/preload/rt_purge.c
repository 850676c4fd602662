/* What the program has freed goes back to the driver while it does other things: holds MiB of device memory (argv[1]) and
 * as much pinned memory as argv[2] says, frees both, and waits for the device again and again for argv[3]
 * milliseconds. argv[4]: in a context of the program's own, or the waits alone: first,
 * then. Or door: no waits, but small allocations, which are answered before the runtime. */
#include <stdbool.h>
#include <time.h>

#include <cudaTypedefs.h>

#include "tests/preload/kernel.h"

#include "shim/gpushim.h"

/* What small allocations take. */
#define SMALL_BYTES (2u << 20)

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static uint64_t reserved_bytes(void)
{
	__typeof__(gpushim_stats) *stats;
	struct gpushim_stats figures;

	*(void **)&stats = dlsym(RTLD_DEFAULT, "gpushim_stats");
	return stats != NULL && stats(0, &figures, sizeof(figures)) == 0 ? figures.reserved_bytes : 0;
}

static void *driver(const char *symbol)
{
	void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), symbol);

	if (found == NULL)
		exit(9);
	return found;
}

static CUcontext make_context(void)
{
	PFN_cuInit_v2000 init = (PFN_cuInit_v2000)driver("cuInit");
	PFN_cuCtxCreate_v3020 create = (PFN_cuCtxCreate_v3020)driver("cuCtxCreate_v2");
	CUcontext context;

	if (init(0) != CUDA_SUCCESS || create(&context, 0, 0) != CUDA_SUCCESS)
		exit(9);
	return context;
}

static bool is_current(CUcontext wanted)
{
	PFN_cuCtxGetCurrent_v4000 get = (PFN_cuCtxGetCurrent_v4000)driver("cuCtxGetCurrent");
	CUcontext current = NULL;

	return get(&current) == CUDA_SUCCESS && current == wanted;
}

/* One call of what the program does meanwhile. */
static void pass_time(bool at_the_door)
{
	void *small;

	if (at_the_door) {
		NEED(cudaMalloc(&small, 1024));
		NEED(cudaFree(small));
	} else {
		NEED(cudaDeviceSynchronize());
	}
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

int main(int argc, char **argv)
{
	size_t device_bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 64) << 20;
	size_t pinned_bytes = (size_t)(argc > 2 ? atoi(argv[2]) : 8) << 20;
	const char *own = argc > 4 ? argv[4] : "";
	CUcontext context = NULL;
	double end_ms;
	void *device, *pinned;

	if (strcmp(own, "first") == 0)
		context = make_context();
	NEED(cudaMalloc(&device, device_bytes));
	NEED(cudaMallocHost(&pinned, pinned_bytes));
	NEED(cudaFree(device));
	NEED(cudaFreeHost(pinned));
	if (strcmp(own, "then") == 0)
		context = make_context();
	end_ms = now_ms() + (argc > 3 ? atof(argv[3]) : 1000);
	while (now_ms() < end_ms && reserved_bytes() > (strcmp(own, "door") == 0 ? SMALL_BYTES : 0))
		pass_time(strcmp(own, "door") == 0);
	printf("%llu MiB held\n", (unsigned long long)reserved_bytes() >> 20);
	if (context != NULL && !is_current(context))
		printf("another context is current\n");
	return 0;
}
