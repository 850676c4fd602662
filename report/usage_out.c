/* A usage as a table and as JSON: shared by the commands that list places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"

static size_t rows_shown(const struct gsr_usage *usage, const struct gsr_options *options)
{
	size_t shown = gsr_usage_shown(usage, options->order);

	if (options->rows == 0)
		return usage->count;
	return options->rows < shown ? options->rows : shown;
}

/* Frames of a stack below its line, innermost first, and a thread that is not the main one, as notes under a row. Of
 * several frames in a row that say little the outermost is shown: what the program called. */
static void stack_print(struct gsr_grid *grid, struct gsr_places *places, const struct gsr_model *model,
			const struct gsr_group *group)
{
	const char *thread = gsr_thread_name(model, group->thread);
	char text[GSR_CELL_BYTES];
	unsigned skipped = 0;

	for (uint64_t stack = group->stack, outer; stack != 0; stack = outer) {
		uint64_t frame = GSR_CELL(model, stacks, frame, stack);

		outer = GSR_CELL(model, stacks, parent, stack);
		if (outer != 0 && gsr_places_is_core(places, frame) &&
		    gsr_places_is_core(places, GSR_CELL(model, stacks, frame, outer))) {
			skipped++;
			continue;
		}
		if (skipped > 0)
			gsr_grid_note(grid, gsr_cell(text, "(%u inside of the next one)", skipped));
		skipped = 0;
		gsr_grid_note(grid, gsr_frame_text(places, frame, text));
	}
	if (thread[0] != '\0' && group->thread != gsr_count(model->meta, GS_KEY(meta, pid)))
		gsr_grid_note(grid, gsr_cell(text, "thread %s", thread));
}

const char *gsr_group_head(enum gsr_group_by by)
{
	switch (by) {
	case GSR_BY_STACK:
		return "STACK";
	case GSR_BY_FUNCTION:
		return "FUNCTION";
	case GSR_BY_CLASS:
		return "CLASS";
	case GSR_BY_CATEGORY:
		return "CATEGORY";
	case GSR_BY_STREAM:
		return "STREAM";
	case GSR_BY_THREAD:
		return "THREAD";
	case GSR_BY_SIZE:
		return "SIZE";
	default:
		return "LINE";
	}
}

enum figure { LIVE, COUNT, PEAK, TOTAL, ALLOCS, FIGURES };

/* Behind which figure its share stands. */
static enum figure ordered_figure(enum gsr_order order)
{
	switch (order) {
	case GSR_ORDER_PEAK:
	case GSR_ORDER_TEMPORARY:
		return PEAK;
	case GSR_ORDER_TOTAL:
		return TOTAL;
	case GSR_ORDER_COUNT:
		return ALLOCS;
	default:
		return LIVE;
	}
}

/* Texts of the figures, with that of the share behind the one that it is of. */
static void share_insert(const char *const figures[FIGURES], enum figure ordered, const char *share, const char *name,
			 const char *ret_cells[FIGURES + 2])
{
	unsigned count = 0;

	for (unsigned figure = 0; figure < FIGURES; figure++) {
		ret_cells[count++] = figures[figure];
		if (figure == ordered)
			ret_cells[count++] = share;
	}
	ret_cells[count] = name;
}

void gsr_usage_print(struct gsr_places *places, const struct gsr_model *model, const struct gsr_usage *usage,
		     const struct gsr_options *options)
{
	bool temporary = options->order == GSR_ORDER_TEMPORARY;
	bool past_known = gsr_history_kept(model);
	const char *const names[FIGURES] = {"LIVE", "COUNT", temporary ? "TEMPORARY" : "AT PEAK", "TOTAL", "ALLOCS"};
	enum figure ordered = ordered_figure(options->order);
	const char *row[FIGURES + 2];
	struct gsr_grid *grid;
	size_t shown = rows_shown(usage, options);

	share_insert(names, ordered, "%", gsr_group_head(options->by), row);
	grid = gsr_grid_new(row, FIGURES + 2);
	for (size_t i = 0; i < shown; i++) {
		char cells[FIGURES][GSR_CELL_BYTES], share[GSR_CELL_BYTES];
		const struct gsr_group *group = &usage->groups[i];
		const struct gsr_use *use = &group->use;
		const char *const figures[FIGURES] = {
		    gsr_bytes(cells[LIVE], use->live_bytes),
		    gsr_number(cells[COUNT], use->live_count),
		    !past_known ? "-" : temporary ? gsr_number(cells[PEAK], use->temporary_count) : gsr_bytes(cells[PEAK], use->peak_bytes),
		    past_known ? gsr_bytes(cells[TOTAL], use->total_bytes) : "-",
		    past_known ? gsr_number(cells[ALLOCS], use->total_count) : "-",
		};

		share_insert(figures, ordered,
			     gsr_share(share, gsr_use_figure(use, options->order), gsr_use_figure(&usage->sum, options->order)),
			     group->name, row);
		gsr_grid_row(grid, row);
		if (options->by == GSR_BY_STACK)
			stack_print(grid, places, model, group);
	}
	gsr_grid_print(grid);
	if (shown < usage->count)
		gsr_line("... and %zu more (-n 0 shows all)", usage->count - shown);
}

static cJSON *stack_json(struct gsr_places *places, const struct gsr_model *model, uint64_t stack)
{
	cJSON *frames = cJSON_CreateArray();
	char text[GSR_CELL_BYTES];

	for (; stack != 0; stack = GSR_CELL(model, stacks, parent, stack))
		cJSON_AddItemToArray(
		    frames, cJSON_CreateString(gsr_frame_text(places, GSR_CELL(model, stacks, frame, stack), text)));
	return frames;
}

static void use_json(cJSON *object, const struct gsr_use *use)
{
	cJSON_AddNumberToObject(object, "live_bytes", (double)use->live_bytes);
	cJSON_AddNumberToObject(object, "live_count", (double)use->live_count);
	cJSON_AddNumberToObject(object, "peak_bytes", (double)use->peak_bytes);
	cJSON_AddNumberToObject(object, "peak_count", (double)use->peak_count);
	cJSON_AddNumberToObject(object, "total_bytes", (double)use->total_bytes);
	cJSON_AddNumberToObject(object, "total_count", (double)use->total_count);
	cJSON_AddNumberToObject(object, "temporary_bytes", (double)use->temporary_bytes);
	cJSON_AddNumberToObject(object, "temporary_count", (double)use->temporary_count);
}

cJSON *gsr_usage_json(struct gsr_places *places, const struct gsr_model *model, const struct gsr_usage *usage,
		      const struct gsr_options *options)
{
	cJSON *object = cJSON_CreateObject(), *sorts = cJSON_AddArrayToObject(object, "what"), *rows;
	size_t shown = rows_shown(usage, options);

	for (unsigned sort = 0; sort < GSR_SORT_COUNT; sort++)
		if ((options->sorts & 1u << sort) != 0)
			cJSON_AddItemToArray(sorts, cJSON_CreateString(gsr_sort_names[sort]));
	cJSON_AddBoolToObject(object, "history_complete", usage->complete);
	use_json(cJSON_AddObjectToObject(object, "sum"), &usage->sum);
	rows = cJSON_AddArrayToObject(object, "rows");
	for (size_t i = 0; i < shown; i++) {
		const struct gsr_group *group = &usage->groups[i];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", group->name);
		use_json(row, &group->use);
		cJSON_AddItemToObject(row, "stack", stack_json(places, model, group->stack));
		cJSON_AddStringToObject(row, "thread", gsr_thread_name(model, group->thread));
		cJSON_AddItemToArray(rows, row);
	}
	return object;
}

void gsr_json_print(cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);

	if (text == NULL)
		abort();
	/* such characters are within texts only, where they may be escaped */
	for (const char *at = text; *at != '\0';) {
		unsigned code;
		size_t length = gsr_harmful(at, &code);

		if (length > 0)
			printf("\\u%04x", code);
		else
			putchar(*at);
		at += length > 0 ? length : 1;
	}
	puts("");
	free(text);
	cJSON_Delete(object);
}

void gsr_name_print(const char *key, const char *name, const struct gsr_options *options)
{
	cJSON *object;

	if (!options->json) {
		gsr_line("%s", name);
		return;
	}
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, key, name);
	gsr_json_print(object);
}

char *gsr_command_text(const struct gsr_model *model, char text[GSR_CELL_BYTES])
{
	const cJSON *argument;
	size_t length = 0;

	text[0] = '\0';
	cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, command)))
	{
		const char *word = cJSON_GetStringValue(argument);

		if (word == NULL || length + strlen(word) + 2 > 200) {
			strcpy(text + length, " ...");
			break;
		}
		length += (size_t)snprintf(text + length, GSR_CELL_BYTES - length, "%s%s", length > 0 ? " " : "", word);
	}
	return text;
}

void gsr_print_title(const char *path, const struct gsr_model *model)
{
	char command[GSR_CELL_BYTES];

	gsr_heading("%s: %s", path, gsr_command_text(model, command));
}

struct gsr_categories *gsr_command_categories(const struct gsr_model *model, struct gsr_places *places,
					      const struct gsr_options *options)
{
	const cJSON *settings = cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, settings));
	const char *named = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "categories"));
	struct gsr_categories *categories;

	if (options->categories != NULL)
		return gsr_categories_new(model, places, options->categories);
	if (named == NULL || named[0] == '\0')
		return gsr_categories_new(model, places, NULL);
	categories = gsr_categories_new(model, places, named);
	return categories != NULL ? categories : gsr_categories_new(model, places, NULL);
}
