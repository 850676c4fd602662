/* A wait for the stream in each step, inside a helper library that is loaded at run time.
 * Whether its line is the library's or its caller's is not documented; that it is found is.
 *
 * finds: wait-stream in progress_report|train_step */
#include "tests/labelled/blind/work.h"

typedef void progress_report_fn(cudaStream_t stream, unsigned *reports);

static progress_report_fn *helper_load(const char *program)
{
	char path[4096];
	const char *slash = strrchr(program, '/');
	void *library, *function;

	snprintf(path, sizeof(path), "%.*s/lib_rt_progress.so", slash ? (int)(slash - program) : 1, slash ? program : ".");
	library = dlopen(path, RTLD_NOW);
	function = library ? dlsym(library, "progress_report") : NULL;
	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	return *(progress_report_fn **)&function;
}

static APART void train_step(uint32_t *words, cudaStream_t stream, progress_report_fn *report, unsigned *reports)
{
	busy(words, stream);
	report(stream, reports);
	host_works();
}

int main(int count, char **arguments)
{
	unsigned reports = 0;
	progress_report_fn *report = count > 0 ? helper_load(arguments[0]) : NULL;
	cudaStream_t stream;
	uint32_t *words;

	work_start();
	stream = stream_new();
	words = words_new();
	for (unsigned step = 0; step < STEPS; step++)
		train_step(words, stream, report, &reports);
	return reports != STEPS;
}
