/* gpushim-report leaks: the places whose memory keeps growing. */
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/growth.h"

static void table_print(const struct gsr_view *view, const struct gsr_growths *growths, unsigned rows)
{
	static const char *const heads[] = {"GREW BY", "A SECOND", "IN", "KEPT", "LIVE", "LINE"};
	struct gsr_grid *grid = gsr_grid_new(heads, 6);

	for (size_t i = 0; i < growths->count && (rows == 0 || i < rows); i++) {
		const struct gsr_growth *growth = &growths->of_group[growths->groups[i]];
		const struct gsr_group *group = &view->usage.groups[growths->groups[i]];
		uint64_t rate = growths->seconds > 0 ? (uint64_t)((double)growth->kept_bytes / growths->seconds) : 0;
		char cells[5][GSR_CELL_BYTES];

		gsr_grid_row(grid, (const char *const[]){
				       gsr_bytes(cells[0], growth->kept_bytes), gsr_bytes(cells[1], rate),
				       gsr_number(cells[2], growth->kept_count),
				       gsr_share(cells[3], growth->kept_count, growth->allocations),
				       gsr_bytes(cells[4], group->use.live_bytes), group->name});
	}
	gsr_grid_print(grid);
	if (rows != 0 && rows < growths->count)
		gsr_line("... and %zu more (-n 0 shows all)", growths->count - rows);
}

static void text_print(const struct gsr_view *view, const struct gsr_growths *growths, const struct gsr_options *options)
{
	char freed[GSR_CELL_BYTES], span[GSR_CELL_BYTES], number[GSR_CELL_BYTES];

	gsr_share(freed, growths->died, growths->born);
	if (!gsr_history_kept(&view->model) || growths->born == 0) {
		gsr_line("Nothing can be said: the snapshot has no history of allocations (history:N keeps one).");
		return;
	}
	if (!growths->settled) {
		gsr_line("Too early to tell: only %s of the %s allocations in the history were freed again.", freed,
			 gsr_number(number, growths->born));
		return;
	}
	gsr_line("%s of the %s allocations in the last %s were freed again.", freed, gsr_number(number, growths->born),
		 gsr_duration(span, (uint64_t)(growths->seconds * 1e9)));
	if (growths->count == 0) {
		gsr_line("No leak found: no place keeps growing.");
		return;
	}
	gsr_heading("%zu %s growing:", growths->count, growths->count == 1 ? "place keeps" : "places keep");
	table_print(view, growths, options->rows);
}

static void json_print(const struct gsr_view *view, const struct gsr_growths *growths, const struct gsr_options *options)
{
	cJSON *object = cJSON_CreateObject(), *rows;
	size_t count = growths->settled ? growths->count : 0;

	cJSON_AddStringToObject(object, "file", view->path);
	cJSON_AddNumberToObject(object, "allocations", (double)growths->born);
	cJSON_AddNumberToObject(object, "freed", (double)growths->died);
	cJSON_AddNumberToObject(object, "seconds", growths->seconds);
	cJSON_AddBoolToObject(object, "settled", growths->settled);
	rows = cJSON_AddArrayToObject(object, "rows");
	for (size_t i = 0; i < count && (options->rows == 0 || i < options->rows); i++) {
		const struct gsr_growth *growth = &growths->of_group[growths->groups[i]];
		const struct gsr_group *group = &view->usage.groups[growths->groups[i]];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", group->name);
		cJSON_AddNumberToObject(row, "grew_bytes", (double)growth->kept_bytes);
		cJSON_AddNumberToObject(row, "grew_count", (double)growth->kept_count);
		cJSON_AddNumberToObject(row, "allocations", (double)growth->allocations);
		cJSON_AddNumberToObject(row, "live_bytes", (double)group->use.live_bytes);
		cJSON_AddNumberToObject(row, "live_count", (double)group->use.live_count);
		cJSON_AddItemToArray(rows, row);
	}
	gsr_json_print(object);
}

int gsr_leaks(const char *path, const struct gsr_model *model, const struct gsr_options *given)
{
	struct gsr_options options = *given;
	struct gsr_growths growths;
	struct gsr_view view;
	bool found;

	if (options.sorts == 0)
		options.sorts = gsr_sorts_default(model) | GSR_SORT_HOST;
	if (gsr_view_read(path, model, &options, &view) != GSR_FINE)
		return GSR_UNUSABLE;
	gsr_growths_read(&view, &growths);
	if (options.json) {
		json_print(&view, &growths, &options);
	} else {
		gsr_print_title(path, model);
		text_print(&view, &growths, &options);
	}
	found = growths.settled && growths.count > 0;
	gsr_growths_drop(&growths);
	gsr_view_end(&view);
	return found ? GSR_FINDING : GSR_FINE;
}
