/* What the program has freed goes back to the driver while it does other things: holds MiB of device memory (argv[1]) and
 * as much pinned memory as argv[2] says, frees both, and waits for the device again and again for argv[3]
 * milliseconds. */
#include <time.h>

#include "tests/preload/kernel.h"

#include "shim/gpushim.h"

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

int main(int argc, char **argv)
{
	size_t device_bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 64) << 20;
	size_t pinned_bytes = (size_t)(argc > 2 ? atoi(argv[2]) : 8) << 20;
	double end_ms;
	void *device, *pinned;

	NEED(cudaMalloc(&device, device_bytes));
	NEED(cudaMallocHost(&pinned, pinned_bytes));
	NEED(cudaFree(device));
	NEED(cudaFreeHost(pinned));
	end_ms = now_ms() + (argc > 3 ? atof(argv[3]) : 1000);
	while (now_ms() < end_ms && reserved_bytes() > 0) {
		NEED(cudaDeviceSynchronize());
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	printf("%llu MiB held\n", (unsigned long long)reserved_bytes() >> 20);
	return 0;
}
