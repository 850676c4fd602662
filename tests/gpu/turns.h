/* Programs in C that are timed by turns, as turns.py has it: with --turns they print "ready", and for each line "N" on standard
 * input run N steps and print the seconds of each as a JSON list, until the input ends. Without it they run some steps and print
 * the least and the median time of a step, and of one of its launches. Then both say how many launches a step has, where that is
 * known. A step ends with the device idle. */
#ifndef GPU_TURNS_H
#define GPU_TURNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_WARM = 5, TURNS_STEPS = 40 };

static inline double turns_seconds(void (*step)(void))
{
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	step();
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
}

static inline int turns_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void turns_serve(void (*step)(void))
{
	char line[32];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		const char *between = "[";

		for (int left = atoi(line); left > 0; left--, between = ", ")
			printf("%s%.9f", between, turns_seconds(step));
		printf("]\n");
		fflush(stdout);
	}
}

static inline void turns_measure(void (*step)(void), int launches)
{
	double seconds[TURNS_STEPS];

	for (int i = 0; i < TURNS_WARM; i++)
		step();
	for (int i = 0; i < TURNS_STEPS; i++)
		seconds[i] = turns_seconds(step);
	qsort(seconds, TURNS_STEPS, sizeof(*seconds), turns_compare);
	if (launches > 0)
		printf("ns_per_launch %.1f %.1f\n", seconds[0] * 1e9 / launches, seconds[TURNS_STEPS / 2] * 1e9 / launches);
	printf("ms %.4f %.4f\n", seconds[0] * 1e3, seconds[TURNS_STEPS / 2] * 1e3);
}

/* argv: the program, one of the names, and perhaps --turns. */
struct turns_program {
	const char *name;
	void (*step)(void);
	int launches; /* kernels in a step; 0 = not the same in each */
};

/* Runs the one that argv names, which must be there; ends the program where it is not. */
static inline const struct turns_program *turns_find(const struct turns_program *programs, int count, int argc, char **argv)
{
	for (int i = 0; i < count && argc > 1; i++)
		if (strcmp(argv[1], programs[i].name) == 0)
			return &programs[i];
	fprintf(stderr, "usage: %s", argv[0]);
	for (int i = 0; i < count; i++)
		fprintf(stderr, "%s%s", i == 0 ? " " : "|", programs[i].name);
	fprintf(stderr, " [--turns]\n");
	exit(2);
}

static inline void turns_run(const struct turns_program *program, int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[2], "--turns") == 0)
		turns_serve(program->step);
	else
		turns_measure(program->step, program->launches);
	if (program->launches > 0)
		printf("launches %d\n", program->launches);
}

#endif
