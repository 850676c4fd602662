/* gpushim-report launch: what was launched, by kernel and by line, and what launching cost the host. */
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/precision.h"
#include "report/steps.h"

struct sum {
	uint64_t key; /* name, or frame of the line */
	uint64_t calls, host_ns, long_calls, long_ns;
	uint64_t known_calls, device_ns; /* calls of kernels whose time on the device was sampled; that of all of them, estimated */
	uint64_t short_calls;		 /* of these, shorter than their own launch */
};

struct sums {
	struct sum *all;
	size_t count;
	struct sum total;
};

static int by_key(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int by_cost(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->host_ns != b->host_ns)
		return a->host_ns > b->host_ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return by_key(left, right);
}

static void sum_add(struct sum *sum, const struct sum *more)
{
	sum->calls += more->calls;
	sum->host_ns += more->host_ns;
	sum->long_calls += more->long_calls;
	sum->long_ns += more->long_ns;
	sum->device_ns += more->device_ns;
	sum->short_calls += more->short_calls;
	sum->known_calls += more->known_calls;
}

/* Kernels and graphs; copies and memsets are launched, too, but are no launches. */
static bool is_launch(const struct gsr_model *model, size_t row)
{
	const char *kind = GSR_NAME(model, kernels, kind, row);

	return strcmp(kind, "kernel") == 0 || strcmp(kind, "graph") == 0;
}

/* Of one kernel at one place. */
static void device_estimate(const struct gsr_model *model, size_t row, struct sum *sum)
{
	uint64_t quick_calls = sum->calls - sum->long_calls, samples = GSR_CELL(model, kernels, samples, row), each_ns;

	if (samples == 0)
		return;
	each_ns = GSR_CELL(model, kernels, sampled_ns, row) / samples;
	sum->known_calls = sum->calls;
	sum->device_ns = each_ns * sum->calls;
	if (quick_calls > 0 && each_ns < (sum->host_ns - sum->long_ns) / quick_calls)
		sum->short_calls = sum->calls;
}

static void sums_read(const struct gsr_model *model, struct gsr_places *places, bool by_line, struct sums *ret_sums)
{
	struct sum *all = calloc(GSR_ROWS(model, kernels) + 1, sizeof(*all));
	size_t count = 0, kept = 0;

	if (all == NULL)
		abort();
	memset(ret_sums, 0, sizeof(*ret_sums));
	for (size_t row = 0; row < GSR_ROWS(model, kernels); row++) {
		struct sum sum = {
		    .key = by_line ? gsr_places_line(places, GSR_CELL(model, kernels, stack, row))
				   : GSR_CELL(model, kernels, name, row),
		    .calls = GSR_CELL(model, kernels, calls, row),
		    .host_ns = GSR_CELL(model, kernels, host_ns, row),
		    .long_calls = GSR_CELL(model, kernels, long_calls, row),
		    .long_ns = GSR_CELL(model, kernels, long_ns, row),
		};

		if (!is_launch(model, row))
			continue;
		device_estimate(model, row, &sum);
		all[count++] = sum;
		sum_add(&ret_sums->total, &sum);
	}
	qsort(all, count, sizeof(*all), by_key);
	for (size_t i = 0; i < count; i++)
		if (kept > 0 && all[kept - 1].key == all[i].key)
			sum_add(&all[kept - 1], &all[i]);
		else
			all[kept++] = all[i];
	qsort(all, kept, sizeof(*all), by_cost);
	ret_sums->all = all;
	ret_sums->count = kept;
}

static char *key_text(const struct gsr_model *model, struct gsr_places *places, bool by_line, uint64_t key,
		      char text[GSR_CELL_BYTES])
{
	return by_line ? gsr_frame_text(places, key, text) : gsr_kernel_text(model, key, text);
}

static void sums_print(const struct gsr_model *model, struct gsr_places *places, bool by_line,
		       const struct gsr_options *options)
{
	const char *const heads[] = {"HOST TIME", "%", "CALLS", "A CALL", "LONG", "ON DEVICE", by_line ? "LINE" : "KERNEL"};
	struct gsr_grid *grid = gsr_grid_new(heads, 7);
	char cells[7][GSR_CELL_BYTES];
	struct sums sums;

	sums_read(model, places, by_line, &sums);
	for (size_t i = 0; i < sums.count && (options->rows == 0 || i < options->rows); i++) {
		const struct sum *sum = &sums.all[i];

		gsr_grid_row(grid, (const char *const[]){
				       gsr_duration(cells[0], sum->host_ns),
				       gsr_share(cells[1], sum->host_ns, sums.total.host_ns),
				       gsr_number(cells[2], sum->calls),
				       gsr_duration(cells[3], sum->calls > 0 ? sum->host_ns / sum->calls : 0),
				       gsr_number(cells[4], sum->long_calls),
				       sum->known_calls > 0 ? gsr_duration(cells[5], sum->device_ns / sum->known_calls) : "-",
				       key_text(model, places, by_line, sum->key, cells[6])});
	}
	gsr_line("%s", "");
	gsr_grid_print(grid);
	if (options->rows != 0 && sums.count > options->rows)
		gsr_line("... and %s more (-n 0 shows all)", gsr_number(cells[0], sums.count - options->rows));
	free(sums.all);
}

static void total_print(const struct gsr_model *model, const struct sum *total)
{
	uint64_t elapsed_ns = gsr_count(model->meta, GS_KEY(meta, elapsed_ns));
	uint64_t short_calls = total->calls - total->long_calls;
	char calls[GSR_CELL_BYTES], time[GSR_CELL_BYTES], share[GSR_CELL_BYTES], elapsed[GSR_CELL_BYTES];
	char each[GSR_CELL_BYTES];

	gsr_line("%s launches took the host %s (%s of %s)", gsr_number(calls, total->calls),
		 gsr_duration(time, total->host_ns), gsr_share(share, total->host_ns, elapsed_ns),
		 gsr_duration(elapsed, elapsed_ns));
	if (total->long_calls > 0)
		gsr_line("%s of them were LONG, %s in all: they waited for room in the queue of the device, or for code to be "
			 "loaded; the others took %s each",
			 gsr_number(calls, total->long_calls), gsr_duration(time, total->long_ns),
			 gsr_duration(each, short_calls > 0 ? (total->host_ns - total->long_ns) / short_calls : 0));
	if (total->short_calls > 0)
		gsr_line("%s of %s launches were of kernels that take the device less time than their launch takes the host, by "
			 "samples: one graph, or fewer and larger kernels, would be faster",
			 gsr_number(calls, total->short_calls), gsr_number(time, total->known_calls));
}

static cJSON *sums_json(const struct gsr_model *model, struct gsr_places *places, bool by_line)
{
	cJSON *list = cJSON_CreateArray();
	char text[GSR_CELL_BYTES];
	struct sums sums;

	sums_read(model, places, by_line, &sums);
	for (size_t i = 0; i < sums.count; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "name", key_text(model, places, by_line, sums.all[i].key, text));
		cJSON_AddNumberToObject(object, "calls", (double)sums.all[i].calls);
		cJSON_AddNumberToObject(object, "host_ns", (double)sums.all[i].host_ns);
		cJSON_AddNumberToObject(object, "long_calls", (double)sums.all[i].long_calls);
		cJSON_AddNumberToObject(object, "long_ns", (double)sums.all[i].long_ns);
		cJSON_AddNumberToObject(object, "known_calls", (double)sums.all[i].known_calls);
		cJSON_AddNumberToObject(object, "device_ns", (double)sums.all[i].device_ns);
		cJSON_AddItemToArray(list, object);
	}
	free(sums.all);
	return list;
}

static void launch_json(const char *path, const struct gsr_model *model, struct gsr_places *places,
			const struct sum *total)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddNumberToObject(object, "elapsed_ns", (double)gsr_count(model->meta, GS_KEY(meta, elapsed_ns)));
	cJSON_AddNumberToObject(object, "calls", (double)total->calls);
	cJSON_AddNumberToObject(object, "host_ns", (double)total->host_ns);
	cJSON_AddNumberToObject(object, "short_calls", (double)total->short_calls);
	cJSON_AddItemToObject(object, "steps", gsr_steps_json(model, places));
	cJSON_AddItemToObject(object, "precision", gsr_precisions_json(model));
	cJSON_AddItemToObject(object, "kernels", sums_json(model, places, false));
	cJSON_AddItemToObject(object, "lines", sums_json(model, places, true));
	gsr_json_print(object);
}

int gsr_launch(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct sums sums;

	sums_read(model, places, false, &sums);
	free(sums.all);
	if (options->json) {
		launch_json(path, model, places, &sums.total);
	} else {
		gsr_print_title(path, model);
		if (sums.total.calls == 0) {
			const char *why = gsr_launches_missing(model);

			gsr_line("no launches were recorded: %s", why != NULL ? why : "nothing was launched");
		} else {
			total_print(model, &sums.total);
			gsr_steps_print(model, places, options->rows);
			sums_print(model, places, false, options);
			sums_print(model, places, true, options);
			gsr_precisions_print(model);
		}
	}
	gsr_places_drop(places);
	return GSR_FINE;
}
