/* Text for Prometheus' textfile collector: no timestamps, each series once. UUID, modelName and hostname are labels of DCGM's exporter
 * with the same values, so that both can be joined by UUID; gpu is the number that the program knows the device by. */
#include <stdio.h>
#include <string.h>

#include "report/export.h"

static void family_print(const char *name, const char *type, const char *help)
{
	printf("# HELP gpushim_%s %s\n# TYPE gpushim_%s %s\n", name, help, name, type);
}

static void label_print(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			fputs("\\n", stdout);
			continue;
		}
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void text_label_print(const char *name, const char *text)
{
	printf(",%s=\"", name);
	label_print(text);
	putchar('"');
}

/* pid and rank; the braces stay open. */
static void series_begin(const struct gsr_model *model, const char *name)
{
	const cJSON *rank = cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, rank));

	printf("gpushim_%s{pid=\"%llu\",rank=\"", name, (unsigned long long)gsr_count(model->meta, GS_KEY(meta, pid)));
	if (cJSON_IsNumber(rank))
		printf("%.0f", rank->valuedouble);
	putchar('"');
}

static void device_series(const struct gsr_model *model, const char *name, const cJSON *device, double value)
{
	series_begin(model, name);
	printf(",gpu=\"%llu\"", (unsigned long long)gsr_count(device, GS_KEY(devices, ordinal)));
	text_label_print("UUID", gsr_text(device, GS_KEY(devices, uuid)));
	text_label_print("modelName", gsr_text(device, GS_KEY(devices, name)));
	text_label_print("hostname", gsr_text(model->meta, GS_KEY(meta, hostname)));
	printf("} %.0f\n", value);
}

static void gauges_print(const struct gsr_model *model)
{
	static const struct {
		const char *name, *gauge, *when, *help;
	} rows[] = {
	    {"device_memory_allocated_bytes", "allocated_bytes", "now", "Live memory, as asked for."},
	    {"device_memory_allocated_peak_bytes", "allocated_bytes", "peak", "The most live memory, as asked for."},
	    {"device_memory_reserved_bytes", "reserved_bytes", "now", "Physical memory held."},
	    {"device_memory_reserved_peak_bytes", "reserved_bytes", "peak", "The most physical memory held."},
	    {"device_memory_pending_bytes", "pending_bytes", "now", "Freed, not yet free for everybody."},
	    {"device_memory_idle_bytes", "idle_bytes", "now", "Held and free."},
	};
	const cJSON *device;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		family_print(rows[i].name, "gauge", rows[i].help);
		cJSON_ArrayForEach(device, model->devices) device_series(model, rows[i].name, device,
									 (double)gsr_gauge(device, rows[i].gauge, rows[i].when));
	}
	family_print("device_memory_total_bytes", "gauge", "Memory of the device.");
	cJSON_ArrayForEach(device, model->devices)
	    device_series(model, "device_memory_total_bytes", device, (double)gsr_count(device, GS_KEY(devices, total_bytes)));
}

static void counters_print(const struct gsr_model *model)
{
	static const struct {
		const char *name, *counter, *help;
	} rows[] = {
	    {"allocations_total", "allocs", "Allocations."},
	    {"frees_total", "frees", "Frees."},
	    {"allocations_without_driver_total", "hits", "Allocations that needed no driver call."},
	    {"out_of_memory_total", "out_of_memory", "Allocations that failed."},
	};
	const cJSON *device;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		family_print(rows[i].name, "counter", rows[i].help);
		cJSON_ArrayForEach(device, model->devices)
		{
			const cJSON *counters = cJSON_GetObjectItemCaseSensitive(device, GS_KEY(devices, counters));

			device_series(model, rows[i].name, device, (double)gsr_count(counters, rows[i].counter));
		}
	}
}

/* Waits by function: rows of the table are by place too. */
static void waits_print(const struct gsr_model *model, const char *name, const char *help, bool seconds)
{
	size_t rows = GSR_ROWS(model, waits);

	family_print(name, "counter", help);
	for (size_t row = 0; row < rows; row++) {
		uint64_t function = GSR_CELL(model, waits, function, row), calls = 0, host_ns = 0;
		size_t first = 0;

		while (GSR_CELL(model, waits, function, first) != function)
			first++;
		if (first < row)
			continue;
		for (size_t i = row; i < rows; i++)
			if (GSR_CELL(model, waits, function, i) == function) {
				calls += GSR_CELL(model, waits, calls, i);
				host_ns += GSR_CELL(model, waits, host_ns, i);
			}
		series_begin(model, name);
		text_label_print("api", gsr_string(model, function));
		if (seconds)
			printf("} %.9f\n", (double)host_ns / 1e9);
		else
			printf("} %llu\n", (unsigned long long)calls);
	}
}

int gsr_export_prometheus(const struct gsr_view *view, const struct gsr_options *options)
{
	const struct gsr_model *model = &view->model;
	uint64_t calls = 0, host_ns = 0;

	(void)options;
	family_print("info", "gauge", "What the figures are of.");
	series_begin(model, "info");
	text_label_print("version", gsr_text(model->meta, GS_KEY(meta, version)));
	text_label_print("hostname", gsr_text(model->meta, GS_KEY(meta, hostname)));
	text_label_print("reason", gsr_text(model->meta, GS_KEY(meta, reason)));
	puts("} 1");
	family_print("start_time_seconds", "gauge", "When the process started, since 1970.");
	series_begin(model, "start_time_seconds");
	printf("} %.3f\n", (double)gsr_decimal(model->meta, GS_KEY(meta, start_wall_ns)) / 1e9);
	gauges_print(model);
	counters_print(model);
	waits_print(model, "waits_total", "Calls in which the host waited, or may have.", false);
	waits_print(model, "wait_seconds_total", "Host time in these calls.", true);
	for (size_t row = 0; row < GSR_ROWS(model, kernels); row++) {
		calls += GSR_CELL(model, kernels, calls, row);
		host_ns += GSR_CELL(model, kernels, host_ns, row);
	}
	family_print("launches_total", "counter", "Launches, asynchronous copies and memsets.");
	series_begin(model, "launches_total");
	printf("} %llu\n", (unsigned long long)calls);
	family_print("launch_seconds_total", "counter", "Host time in these.");
	series_begin(model, "launch_seconds_total");
	printf("} %.9f\n", (double)host_ns / 1e9);
	return GSR_FINE;
}
