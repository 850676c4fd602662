/* gpushim-report timeline: memory over real time, as a chart of characters or as a picture. */
#include <stdio.h>
#include <string.h>

#include "report/command.h"
#include "report/series.h"
#include "report/timeline_svg.h"

#define HEIGHT 8
#define LABEL_WIDTH 10
#define POINTS 200 /* of JSON and of the picture, unless --rows says otherwise */

/* A column of the chart is of eighths; row 0 is at the bottom. */
static const char *column_glyph(uint64_t bytes, uint64_t top, unsigned row)
{
	static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	unsigned filled = top > 0 ? (unsigned)((double)bytes / (double)top * HEIGHT * 8 + 0.5) : 0;

	if (bytes > 0 && filled == 0)
		filled = 1;
	return filled <= row * 8 ? eighths[0] : eighths[filled - row * 8 > 8 ? 8 : filled - row * 8];
}

static void chart_print(const struct gsr_series *series)
{
	char label[GSR_CELL_BYTES], from[GSR_CELL_BYTES], to[GSR_CELL_BYTES];
	bool failed = false;

	for (unsigned row = HEIGHT; row-- > 0;) {
		bool named = row == HEIGHT - 1 || row == HEIGHT / 2 - 1;

		printf("%*s %s", LABEL_WIDTH,
		       named ? gsr_bytes(label, row == HEIGHT - 1 ? series->peak_bytes : series->peak_bytes / 2) : "",
		       named ? "┤" : "│");
		for (size_t i = 0; i < series->count; i++)
			fputs(column_glyph(series->points[i].live_bytes, series->peak_bytes, row), stdout);
		puts("");
	}
	printf("%*s └", LABEL_WIDTH, "0 B");
	for (size_t i = 0; i < series->count; i++) {
		fputs(series->points[i].failed ? "!" : "─", stdout);
		failed |= series->points[i].failed;
	}
	puts("");
	gsr_duration(from, (uint64_t)series->from_ns);
	gsr_duration(to, (uint64_t)series->to_ns);
	printf("%*s  %s%*s%s\n", LABEL_WIDTH, "", from, (int)(series->count - strlen(from) - strlen(to)), "", to);
	if (failed)
		gsr_line("%*s  !  an allocation failed", LABEL_WIDTH, "");
}

static void text_print(const struct gsr_view *view, const struct gsr_series *series)
{
	char what[GSR_CELL_BYTES], peak[GSR_CELL_BYTES], when[GSR_CELL_BYTES], held[GSR_CELL_BYTES], dropped[GSR_CELL_BYTES];

	gsr_print_title(view->path, &view->model);
	if (!gsr_history_kept(&view->model)) {
		gsr_line("There is no timeline: no history was kept (history:0).");
		return;
	}
	gsr_line("%s alive over time; at most %s, after %s; gpushim held up to %s", gsr_sorts_text(view->sorts, what),
		 gsr_bytes(peak, series->peak_bytes), gsr_duration(when, (uint64_t)series->peak_ns),
		 gsr_bytes(held, series->held_peak_bytes));
	chart_print(series);
	if (!view->replay.complete)
		gsr_line("It begins where the history does: %s older events were dropped (history:N keeps more).",
			 gsr_number(dropped, gsr_count(view->model.recording, GS_KEY(recording, events_dropped))));
}

static void json_print(const struct gsr_view *view, const struct gsr_series *series)
{
	cJSON *object = cJSON_CreateObject(), *points;
	char what[GSR_CELL_BYTES];

	cJSON_AddStringToObject(object, "file", view->path);
	cJSON_AddStringToObject(object, "what", gsr_sorts_text(view->sorts, what));
	cJSON_AddBoolToObject(object, "history_complete", view->replay.complete);
	cJSON_AddNumberToObject(object, "peak_bytes", (double)series->peak_bytes);
	cJSON_AddNumberToObject(object, "peak_ns", (double)series->peak_ns);
	cJSON_AddNumberToObject(object, "held_peak_bytes", (double)series->held_peak_bytes);
	points = cJSON_AddArrayToObject(object, "points");
	for (size_t i = 0; i < series->count; i++) {
		const struct gsr_point *point = &series->points[i];
		double span_ns = (double)(series->to_ns - series->from_ns) / (double)series->count;
		cJSON *row = cJSON_CreateObject();

		cJSON_AddNumberToObject(row, "time_ns", (double)(int64_t)((double)series->from_ns + span_ns * (double)i));
		cJSON_AddNumberToObject(row, "live_bytes", (double)point->live_bytes);
		cJSON_AddNumberToObject(row, "held_bytes", (double)point->held_bytes);
		cJSON_AddBoolToObject(row, "failed", point->failed);
		cJSON_AddItemToArray(points, row);
	}
	gsr_json_print(object);
}

int gsr_timeline(const char *path, const struct gsr_model *model, const struct gsr_options *given)
{
	struct gsr_options options = *given;
	struct gsr_series series;
	struct gsr_view view;
	size_t count = options.rows != 0 ? options.rows : POINTS;

	if ((options.given & (uint64_t)1 << GSR_OPTION_GROUP) == 0)
		options.by = GSR_BY_CATEGORY;
	if (gsr_view_read(path, model, &options, &view) != GSR_FINE)
		return GSR_UNUSABLE;
	if (!options.json && !options.svg)
		count = gsr_width() - LABEL_WIDTH - 3;
	gsr_series_read(&view, count < 100000 ? count : 100000, &series);
	if (options.json)
		json_print(&view, &series);
	else if (options.svg)
		gsr_timeline_svg(&view, &series);
	else
		text_print(&view, &series);
	gsr_series_drop(&series);
	gsr_view_end(&view);
	return GSR_FINE;
}
