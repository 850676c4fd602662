/* Host time of a launch: 16 kernels at places of their own, in turn, as one round of a loop, on a stream of the program's. Prints
 * nanoseconds a launch, the least and the median of batches. What differs between runs with other settings is what gpushim
 * costs; on the simulated GPU the launch itself is that of the simulation.
 *
 *   launch-cost [BATCHES]      scripts/bench --only launches runs it by turns */
#include <time.h>

#include "tests/preload/kernel.h"

enum { ROUNDS = 40 };

static cudaStream_t stream;
static uint32_t *words;

#define PLACE(number)                                                                                                  \
	static __attribute__((noinline, noclone)) void place_##number(void)                                            \
	{                                                                                                              \
		kernel_fill(words, 1, 1, stream);                                                                      \
		__asm__ volatile("# " #number);                                                                        \
	}
#define PLACES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
PLACES(PLACE)

static void (*const places[])(void) = {
#define PLACE_ROW(number) place_##number,
	PLACES(PLACE_ROW)
};
#define COUNT (sizeof(places) / sizeof(places[0]))

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
	int batches = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 200;
	double *ns = calloc((size_t)batches, sizeof(*ns));

	kernels_register();
	stream = stream_new();
	NEED(cudaMalloc((void **)&words, sizeof(*words)));
	for (int batch = 0; ns != NULL && batch < batches; batch++) {
		double start = now_ns();

		for (unsigned round = 0; round < ROUNDS; round++)
			for (size_t i = 0; i < COUNT; i++)
				places[i]();
		ns[batch] = (now_ns() - start) / (double)(ROUNDS * COUNT);
		NEED(cudaDeviceSynchronize());
	}
	if (ns == NULL)
		return 1;
	qsort(ns, (size_t)batches, sizeof(*ns), by_value);
	printf("{\"ns_least\": %.1f, \"ns_median\": %.1f}\n", ns[0], ns[batches / 2]);
	free(ns);
	return 0;
}
