/* Programs that are bound by their launches, of the kinds that people write: what a graph of repeated launches has to
 * get right.
 *
 *	launch_bound NAME [STEPS] [check]	works PASSES passes; prints a number made of all results, and the time
 *						of the fastest pass in milliseconds; with `check` it compares each
 *						result with the host's own as well
 *	launch_bound				prints the names
 *
 * Wrong arguments end it with 2, a wrong result with 1, a library that is missing with 77. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"
#include "tests/gpu/load.h"

enum { PASSES = 16, TAKEN = 64, STEPS_MOST = 1000000 };

static const struct bound_program *const programs[] = {
    &bound_stencil,   &bound_runge_kutta, &bound_lu,	      &bound_n_body,	&bound_gradients,
    &bound_multigrid, &bound_wavefront,	  &bound_sort,	      &bound_reduction, &bound_automaton,
    &bound_histogram, &bound_transfers,	  &bound_temporaries, &bound_transform, &bound_paths,
#ifdef WITH_CUBLAS
    &bound_language,
#endif
};

cudaStream_t stream;

static void *taken[TAKEN];
static int taken_count;

void *bound_take(size_t size_bytes)
{
	EXPECT(taken_count < TAKEN);
	CHECK(cudaMalloc(&taken[taken_count], size_bytes));
	return taken[taken_count++];
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static const struct bound_program *find(const char *name)
{
	for (const struct bound_program *program : programs)
		if (name && strcmp(name, program->name) == 0)
			return program;
	return NULL;
}

/* The program's own number where there is no text; 0 = the text is no number of steps. */
static int steps_of(const struct bound_program *program, const char *text)
{
	char *end;
	long steps;

	if (!text)
		return program->steps;
	steps = strtol(text, &end, 10);
	return *end == '\0' && steps > 0 && steps <= STEPS_MOST ? (int)steps : 0;
}

static void run(const struct bound_program *program, int steps, bool checks)
{
	uint64_t sums[PASSES];
	double least_ms = 1e9;
	size_t size_bytes;
	void *result = program->begin(steps, &size_bytes), *host = malloc(size_bytes);

	EXPECT(host);
	for (int pass = 0; pass < PASSES; pass++) {
		double start_ms, took_ms;

		CHECK(cudaDeviceSynchronize());
		start_ms = now_ms();
		program->pass((uint32_t)pass, steps);
		CHECK(cudaDeviceSynchronize());
		took_ms = now_ms() - start_ms;
		least_ms = took_ms < least_ms ? took_ms : least_ms;
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpy(host, result, size_bytes, cudaMemcpyDeviceToHost));
		sums[pass] = digest(host, size_bytes);
		if (checks && !program->right((uint32_t)pass, steps, host)) {
			fprintf(stderr, "%s: pass %d is not what the host makes of it\n", program->name, pass);
			exit(1);
		}
	}
	free(host);
	if (checks)
		printf("right %s %d passes\n", program->name, PASSES);
	printf("ok %s %016llx\n", program->name, (unsigned long long)digest(sums, sizeof(sums)));
	printf("ms %s %.4f\n", program->name, least_ms);
}

int main(int argc, char **argv)
{
	const struct bound_program *program = find(argc > 1 ? argv[1] : NULL);
	bool checks = argc > 2 && strcmp(argv[argc - 1], "check") == 0;
	int steps = program ? steps_of(program, argc - checks > 2 ? argv[2] : NULL) : 0;

	if (argc == 1) {
		for (const struct bound_program *each : programs)
			printf("%s\n", each->name);
		return 0;
	}
	if (argc - checks > 3 || steps == 0) {
		fprintf(stderr, "usage: launch_bound NAME [STEPS] [check]; without arguments it prints the names\n");
		return 2;
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	run(program, steps, checks);
	while (taken_count > 0)
		CHECK(cudaFree(taken[--taken_count]));
	CHECK(cudaStreamDestroy(stream));
	return 0;
}
