/* gpushim-report graph: what gpushim's own thread handed to the driver, what of it went as graphs, and why the rest did not. */
#include <string.h>

#include "report/command.h"

static uint64_t sum_of(const cJSON *rows, const char *kind)
{
	const cJSON *row;
	uint64_t sum = 0;

	cJSON_ArrayForEach(row, rows)
		if (strcmp(gsr_text(row, GS_KEY(submit, kind)), kind) == 0)
			sum += gsr_count(row, GS_KEY(submit, count));
	return sum;
}

static uint64_t figure_of(const cJSON *rows, const char *name)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, rows)
		if (strcmp(gsr_text(row, GS_KEY(graph, kind)), "figure") == 0 &&
		    strcmp(gsr_text(row, GS_KEY(graph, name)), name) == 0)
			return gsr_count(row, GS_KEY(graph, count));
	return 0;
}

/* Both sections have keys of these names. */
static void rows_print(const cJSON *rows, const char *kind, const char *heading, bool timed)
{
	char count[GSR_CELL_BYTES], time[GSR_CELL_BYTES];
	const cJSON *row;

	if (sum_of(rows, kind) == 0)
		return;
	gsr_line("%s", "");
	gsr_heading("%s", heading);
	cJSON_ArrayForEach(row, rows)
	{
		const char *text = gsr_text(row, GS_KEY(submit, text)), *name = gsr_text(row, GS_KEY(submit, name));

		if (strcmp(gsr_text(row, GS_KEY(submit, kind)), kind) != 0)
			continue;
		gsr_number(count, gsr_count(row, GS_KEY(submit, count)));
		if (timed)
			gsr_line("%14s  %10s  %s", count, gsr_duration(time, gsr_count(row, GS_KEY(submit, host_ns))), name);
		else
			gsr_line("%14s  %s", count, text[0] != '\0' ? text : name);
	}
}

static void submit_print(const struct gsr_model *model)
{
	uint64_t put_off = sum_of(model->submit, "put_off"), at_once = sum_of(model->submit, "at_once");
	char number[GSR_CELL_BYTES], all[GSR_CELL_BYTES], share[GSR_CELL_BYTES], time[GSR_CELL_BYTES];
	const cJSON *row;

	gsr_line("gpushim's thread handed %s of %s pieces of work to the driver (%s)", gsr_number(number, put_off),
		 gsr_number(all, put_off + at_once), gsr_share(share, put_off, put_off + at_once));
	cJSON_ArrayForEach(row, model->submit)
		if (strcmp(gsr_text(row, GS_KEY(submit, kind)), "flushes") == 0)
			gsr_line("%s calls waited for it, %s in all",
				 gsr_number(number, gsr_count(row, GS_KEY(submit, count))),
				 gsr_duration(time, gsr_count(row, GS_KEY(submit, host_ns))));
	rows_print(model->submit, "put_off", "handed over by the thread", false);
	rows_print(model->submit, "at_once", "made at once, because of", false);
	rows_print(model->submit, "flush", "calls that waited longest", true);
}

static void gain_print(const cJSON *rows)
{
	char saved[GSR_CELL_BYTES], built[GSR_CELL_BYTES];
	uint64_t lost_ns = figure_of(rows, "lost_ns");

	if (figure_of(rows, "graph_launches") == 0)
		return;
	gsr_line("%s the thread about %s (an estimate); building them took %s", lost_ns != 0 ? "they cost" : "they saved",
		 gsr_duration(saved, lost_ns != 0 ? lost_ns : figure_of(rows, "saved_ns")),
		 gsr_duration(built, figure_of(rows, "build_ns")));
}

static void traces_print(const cJSON *rows)
{
	char built[GSR_CELL_BYTES], live[GSR_CELL_BYTES], bytes[GSR_CELL_BYTES], times[GSR_CELL_BYTES];

	gsr_line("%s repeated sequences were built, %s are there and hold about %s", gsr_number(built, figure_of(rows, "built")),
		 gsr_number(live, figure_of(rows, "live")), gsr_bytes(bytes, figure_of(rows, "live_bytes")));
	if (figure_of(rows, "suspended") != 0)
		gsr_line("%s times one was found not to pay", gsr_number(times, figure_of(rows, "suspended")));
	if (figure_of(rows, "refused") != 0)
		gsr_line("%s times the driver refused one", gsr_number(times, figure_of(rows, "refused")));
}

static void graph_print(const struct gsr_model *model)
{
	const cJSON *rows = model->graph;
	uint64_t launches = figure_of(rows, "launches"), replayed = figure_of(rows, "replayed");
	char number[GSR_CELL_BYTES], all[GSR_CELL_BYTES], share[GSR_CELL_BYTES], graphs[GSR_CELL_BYTES];

	gsr_line("%s", "");
	gsr_line("%s of %s launches (%s) went as nodes of graphs, in %s launches of graphs", gsr_number(number, replayed),
		 gsr_number(all, launches), gsr_share(share, replayed, launches),
		 gsr_number(graphs, figure_of(rows, "graph_launches")));
	gsr_line("%s nodes got other arguments than before", gsr_number(number, figure_of(rows, "patched")));
	traces_print(rows);
	gain_print(rows);
	rows_print(rows, "plain", "launched one by one, because of", false);
	rows_print(rows, "fall", "what was held for a graph was let go, because of", false);
}

static const char *setting(const struct gsr_model *model, const char *name)
{
	return gsr_text(cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, settings)), name);
}

/* Why there is nothing to tell. */
static const char *nothing_why(const struct gsr_model *model)
{
	if (strcmp(setting(model, "submit"), "thread") != 0)
		return "launches went to the driver one by one: submit:thread was not set; launch says what launching cost";
	return "nothing was handed over: the program launched nothing, or submit:thread cannot work there (log:info says why)";
}

static void why_print(const struct gsr_model *model)
{
	if (figure_of(model->graph, "launches") != 0)
		return;
	gsr_line("%s", "");
	gsr_line("%s", strcmp(setting(model, "graph"), "auto") != 0
			       ? "no graphs: graph:auto was not set"
			       : "no graphs: nothing was looked at, or graph:auto cannot work there (log:info says why)");
}

static cJSON *rows_json(const cJSON *rows)
{
	return rows != NULL ? cJSON_Duplicate(rows, true) : cJSON_CreateArray();
}

int gsr_graph(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	cJSON *object;

	if (options->json) {
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "file", path);
		cJSON_AddItemToObject(object, "submit", rows_json(model->submit));
		cJSON_AddItemToObject(object, "graph", rows_json(model->graph));
		gsr_json_print(object);
		return GSR_FINE;
	}
	gsr_print_title(path, model);
	if (cJSON_GetArraySize(model->submit) == 0) {
		gsr_line("%s", nothing_why(model));
		return GSR_FINE;
	}
	submit_print(model);
	if (figure_of(model->graph, "launches") != 0)
		graph_print(model);
	why_print(model);
	return GSR_FINE;
}
