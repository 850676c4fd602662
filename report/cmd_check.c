/* gpushim-report check: limits that a snapshot has to keep, for scripts and continuous integration. A limit on what the snapshot does
 * not know counts as broken: a gate must not open by itself. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/finding.h"
#include "report/growth.h"
#include "report/holes.h"
#include "report/torch.h"

enum unit { BYTES, NS, COUNT };
enum whole { NONE, DEVICES, HELD, TORCH, ELAPSED };

struct measuring {
	const struct gsr_model *model;
	const struct gsr_view *view;
};

/* --- what is measured: false where the snapshot does not know ------------------------------------------------------ */

static uint64_t gauges_sum(const struct gsr_model *model, const char *name, const char *when)
{
	const cJSON *device;
	uint64_t sum = 0;

	cJSON_ArrayForEach(device, model->devices) sum += gsr_gauge(device, name, when);
	return sum;
}

static bool measure_live(const struct measuring *measuring, double *ret_value)
{
	*ret_value = (double)measuring->view->usage.sum.live_bytes;
	return true;
}

static bool measure_peak(const struct measuring *measuring, double *ret_value)
{
	*ret_value = (double)measuring->view->usage.sum.peak_bytes;
	return gsr_history_kept(measuring->model);
}

/* The ring file of a killed process and logs of RMM's have allocations, and not what was held for them; PyTorch's snapshots do. */
static bool held_known(const struct gsr_model *model)
{
	return gsr_is_own(model) ||
	       (!gsr_is_recovered(model) && gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count)) > 0);
}

static bool measure_held(const struct measuring *measuring, double *ret_value)
{
	*ret_value = 0;
	for (size_t row = 0; row < GSR_ROWS(measuring->model, segments); row++)
		*ret_value += (double)GSR_CELL(measuring->model, segments, size_bytes, row);
	return held_known(measuring->model);
}

static bool measure_held_peak(const struct measuring *measuring, double *ret_value)
{
	*ret_value = (double)gauges_sum(measuring->model, "reserved_bytes", "peak");
	return gsr_is_own(measuring->model);
}

static bool measure_holes(const struct measuring *measuring, double *ret_value)
{
	struct gsr_holes holes;

	gsr_holes_read(measuring->model, measuring->view->places, &holes);
	*ret_value = (double)holes.hole_bytes;
	gsr_holes_drop(&holes);
	return held_known(measuring->model);
}

static bool measure_pinned(const struct measuring *measuring, double *ret_value)
{
	struct gsr_holes holes;

	gsr_holes_read(measuring->model, measuring->view->places, &holes);
	*ret_value = (double)(holes.hole_bytes - holes.free_bytes);
	gsr_holes_drop(&holes);
	return held_known(measuring->model);
}

static bool measure_torch_cache(const struct measuring *measuring, double *ret_value)
{
	struct gsr_torch torch;

	gsr_torch_read(measuring->model, &torch);
	*ret_value = (double)torch.cached_bytes;
	return held_known(measuring->model);
}

static bool measure_host(const struct measuring *measuring, double *ret_value)
{
	*ret_value = (double)gsr_live_total(measuring->model, "host", GS_KEY(live_totals, peak_bytes));
	return gsr_is_own(measuring->model) || *ret_value > 0;
}

static bool measure_leaks(const struct measuring *measuring, double *ret_value)
{
	struct gsr_growths growths;
	bool known;

	gsr_growths_read(measuring->view, &growths);
	*ret_value = (double)growths.count;
	known = growths.settled;
	gsr_growths_drop(&growths);
	return known;
}

/* Counted by gpushim, or as many as the history holds. */
static bool measure_out_of_memory(const struct measuring *measuring, double *ret_value)
{
	const struct gsr_model *model = measuring->model;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	bool known = gsr_history_complete(model);
	uint64_t counted = 0, seen = 0;
	const cJSON *device;

	cJSON_ArrayForEach(device, model->devices)
	{
		const cJSON *counters = cJSON_GetObjectItemCaseSensitive(device, GS_KEY(devices, counters));

		known |= cJSON_HasObjectItem(counters, "out_of_memory") != 0;
		counted += gsr_count(counters, "out_of_memory");
	}
	for (size_t row = 0; row < GSR_ROWS(model, events); row++)
		seen += GSR_CELL(model, events, type, row) == failed;
	*ret_value = (double)(seen > counted ? seen : counted);
	return known || *ret_value > 0;
}

static bool measure_errors(const struct measuring *measuring, double *ret_value)
{
	*ret_value = cJSON_GetArraySize(measuring->model->errors);
	return gsr_is_own(measuring->model);
}

static bool measure_waits(const struct measuring *measuring, double *ret_value)
{
	*ret_value = 0;
	for (size_t row = 0; row < GSR_ROWS(measuring->model, waits); row++)
		*ret_value += (double)GSR_CELL(measuring->model, waits, host_ns, row);
	return gsr_is_watched(measuring->model);
}

static bool measure_findings(const struct measuring *measuring, double *ret_value)
{
	struct gsr_findings findings;

	*ret_value = 0;
	gsr_findings_read(measuring->model, measuring->view->places, &findings);
	for (size_t i = 0; i < findings.count; i++)
		*ret_value += findings.findings[i].problem;
	gsr_findings_drop(&findings);
	return gsr_is_watched(measuring->model);
}

static bool measure_launch_time(const struct measuring *measuring, double *ret_value)
{
	*ret_value = 0;
	for (size_t row = 0; row < GSR_ROWS(measuring->model, kernels); row++)
		*ret_value += (double)GSR_CELL(measuring->model, kernels, host_ns, row);
	return gsr_launches_missing(measuring->model) == NULL;
}

static const struct metric {
	const char *name;
	enum unit unit;
	enum whole whole;
	const char *line;
	bool (*measure)(const struct measuring *measuring, double *ret_value);
} metrics[] = {
#define METRIC(name, unit, whole, line) {#name, unit, whole, line, measure_##name},
#include "report/metric.def"
};

static double whole_of(const struct measuring *measuring, enum whole whole)
{
	struct gsr_torch torch;
	const cJSON *device;
	double sum = 0;

	switch (whole) {
	case DEVICES:
		cJSON_ArrayForEach(device, measuring->model->devices)
		{
			if (gsr_gauge(device, "reserved_bytes", "peak") > 0)
				sum += (double)gsr_count(device, GS_KEY(devices, total_bytes));
		}
		return sum;
	case HELD:
		return (double)gauges_sum(measuring->model, "reserved_bytes", "now");
	case TORCH:
		gsr_torch_read(measuring->model, &torch);
		return (double)torch.held_bytes;
	case ELAPSED:
		return (double)gsr_count(measuring->model->meta, GS_KEY(meta, elapsed_ns));
	case NONE:
		break;
	}
	return 0;
}

/* --- limits ------------------------------------------------------------------------------------------------------ */

struct limit {
	const struct metric *metric;
	char *text; /* "peak <= 90%" */
	bool below;  /* else above */
	bool equal;  /* may also be equal */
	bool is_share;
	double value;
};

struct limits {
	struct limit *limits;
	size_t count;
};

/* from: where the limit stands, for the message. */
static int limit_complain(const char *from, const char *text, const char *why)
{
	fprintf(stderr, "gpushim-report: %s: \"%s\": %s\n", from, text, why);
	return -1;
}

static const struct metric *metric_find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strlen(metrics[i].name) == length && strncmp(metrics[i].name, name, length) == 0)
			return &metrics[i];
	return NULL;
}

/* Of a unit of time, its nanoseconds; 0 = it is none. */
static double time_scale(const char *unit)
{
	static const struct {
		const char *name;
		double scale;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].scale;
	return 0;
}

static int limit_add(struct limits *limits, const char *from, const char *text)
{
	size_t name = strcspn(text, " <>="), blank = name + strspn(text + name, " ");
	struct limit limit = {.metric = metric_find(text, name), .below = text[blank] == '<'};
	const char *value = text + blank + 1;

	if (limit.metric == NULL)
		return limit_complain(from, text, "there is no such figure; gpushim-report check --help lists them");
	if (text[blank] != '<' && text[blank] != '>')
		return limit_complain(from, text, "a limit is: NAME<=VALUE, or with <, >=, >");
	limit.equal = *value == '=';
	value += limit.equal;
	value += strspn(value, " ");
	if (limit.metric->unit == NS) {
		char *end;
		double scale;

		limit.value = strtod(value, &end);
		scale = time_scale(end + strspn(end, " "));
		limit.value *= scale;
		if (end != value && scale > 0 && isfinite(limit.value)) {
			if (limit.value >= 0 && limit.value < 1e15) /* whole nanoseconds, as what is measured */
				limit.value = (double)(uint64_t)(limit.value + 0.5);
			goto add;
		}
	}
	if (!gsr_quantity_read(value, &limit.value, &limit.is_share))
		return limit_complain(from, text, "this is no value: 12.5GiB, 3%, 7, or of times 1.5s");
	if (limit.is_share && limit.metric->whole == NONE)
		return limit_complain(from, text, "this figure is no part of anything: give a value without %");
	if (!limit.is_share && limit.metric->unit == NS)
		return limit_complain(from, text, "a time has to be given in seconds or as a share: 1.5s, 20ms, 3%");
add:
	limit.text = strdup(text);
	limits->limits = realloc(limits->limits, (limits->count + 1) * sizeof(*limits->limits));
	if (limit.text == NULL || limits->limits == NULL)
		abort();
	limits->limits[limits->count++] = limit;
	return 0;
}

static int file_read(struct limits *limits, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024], from[GSR_CELL_BYTES];
	int error = 0;

	if (file == NULL)
		return limit_complain("limits", path, strerror(errno));
	for (unsigned number = 1; error == 0 && fgets(line, sizeof(line), file) != NULL; number++) {
		char *text = line + strspn(line, " \t");

		text[strcspn(text, "#\r\n")] = '\0';
		for (size_t end = strlen(text); end > 0 && strchr(" \t", text[end - 1]) != NULL; end--)
			text[end - 1] = '\0';
		if (text[0] != '\0')
			error = limit_add(limits, gsr_cell(from, "%s:%u", path, number), text);
	}
	if (error == 0 && ferror(file))
		error = limit_complain("limits", path, strerror(errno));
	fclose(file);
	return error;
}

static void limits_drop(struct limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		free(limits->limits[i].text);
	free(limits->limits);
}

static int limits_read(const struct gsr_options *options, struct limits *ret_limits)
{
	int error = 0;

	memset(ret_limits, 0, sizeof(*ret_limits));
	for (unsigned i = 0; error == 0 && i < options->limit_count; i++)
		error = limit_add(ret_limits, "--limit", options->limits[i]);
	if (error == 0 && options->limits_file != NULL)
		error = file_read(ret_limits, options->limits_file);
	if (error == 0 && ret_limits->count == 0) {
		fputs("gpushim-report: check: no limits: give some with --limit 'peak<=90%', or a file with --limits\n", stderr);
		error = -1;
	}
	if (error != 0)
		limits_drop(ret_limits);
	return error;
}

/* --- the check --------------------------------------------------------------------------------------------------- */

static char *value_text(const struct limit *limit, double value, double whole, char text[GSR_CELL_BYTES])
{
	if (limit->is_share)
		return whole > 0 ? gsr_cell(text, "%.1f %%", 100 * value / whole) : strcpy(text, "-");
	return limit->metric->unit == BYTES ? gsr_bytes(text, (uint64_t)value)
	       : limit->metric->unit == NS  ? gsr_duration(text, (uint64_t)value)
					    : gsr_number(text, (uint64_t)value);
}

/* "kept", "BROKEN" or "UNKNOWN" */
static const char *limit_check(const struct limit *limit, const struct measuring *measuring, char text[GSR_CELL_BYTES])
{
	double value, whole = limit->is_share ? whole_of(measuring, limit->metric->whole) : 0, measured;

	if (!limit->metric->measure(measuring, &value)) {
		strcpy(text, "-");
		return "UNKNOWN";
	}
	if (limit->is_share && whole <= 0 && value > 0) { /* a share of what is not known */
		strcpy(text, "-");
		return "UNKNOWN";
	}
	value_text(limit, value, whole, text);
	measured = limit->is_share ? (whole > 0 ? 100 * value / whole : 0) : value;
	if (limit->equal && measured == limit->value)
		return "kept";
	return (limit->below ? measured < limit->value : measured > limit->value) ? "kept" : "BROKEN";
}

static unsigned text_print(const struct limits *limits, const struct measuring *measuring)
{
	static const char *const heads[] = {"VALUE", "", "LIMIT"};
	struct gsr_grid *grid = gsr_grid_new(heads, 3);
	char value[GSR_CELL_BYTES];
	unsigned broken = 0;

	for (size_t i = 0; i < limits->count; i++) {
		const char *word = limit_check(&limits->limits[i], measuring, value);

		broken += strcmp(word, "kept") != 0;
		gsr_grid_row(grid, (const char *const[]){value, word, limits->limits[i].text});
	}
	gsr_grid_print(grid);
	if (broken > 0)
		gsr_heading("%u of %zu limit%s %s not kept.", broken, limits->count, limits->count == 1 ? "" : "s", broken == 1 ? "is" : "are");
	return broken;
}

static unsigned json_print(const char *path, const struct limits *limits, const struct measuring *measuring)
{
	cJSON *object = cJSON_CreateObject(), *list;
	char text[GSR_CELL_BYTES];
	unsigned broken = 0;

	cJSON_AddStringToObject(object, "file", path);
	list = cJSON_AddArrayToObject(object, "limits");
	for (size_t i = 0; i < limits->count; i++) {
		const char *word = limit_check(&limits->limits[i], measuring, text);
		cJSON *row = cJSON_CreateObject();
		double value = 0;

		broken += strcmp(word, "kept") != 0;
		cJSON_AddStringToObject(row, "limit", limits->limits[i].text);
		cJSON_AddStringToObject(row, "state", strcmp(word, "kept") == 0 ? "kept" : word[0] == 'B' ? "broken" : "unknown");
		if (limits->limits[i].metric->measure(measuring, &value))
			cJSON_AddNumberToObject(row, "value", value);
		else
			cJSON_AddNullToObject(row, "value");
		cJSON_AddItemToArray(list, row);
	}
	cJSON_AddNumberToObject(object, "broken", broken);
	gsr_json_print(object);
	return broken;
}

void gsr_check_help(void)
{
	puts("\nfigures:");
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		printf("  %-14s %s%s\n", metrics[i].name, metrics[i].line, metrics[i].whole != NONE ? "; also as a share, in %" : "");
}

int gsr_check(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct measuring measuring = {.model = model};
	struct limits limits;
	struct gsr_view view;
	unsigned broken;

	if (limits_read(options, &limits) != 0)
		return GSR_UNUSABLE;
	if (gsr_view_read(path, model, options, &view) != GSR_FINE) {
		limits_drop(&limits);
		return GSR_UNUSABLE;
	}
	measuring.view = &view;
	if (!options->json)
		gsr_print_title(path, model);
	broken = options->json ? json_print(path, &limits, &measuring) : text_print(&limits, &measuring);
	gsr_view_end(&view);
	limits_drop(&limits);
	return broken > 0 ? GSR_FINDING : GSR_FINE;
}
