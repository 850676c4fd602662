/* gpushim-report diff A B: what grew from one snapshot to another, group by group. Groups are the same if their names are: by
 * function they stay so when lines move. By stack they are the same if the names of all frames are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"

struct change {
	char *key; /* what groups are compared by; owned */
	const char *name;
	uint64_t before, after;
	const struct gsr_view *view; /* one of those that have it, with the stack there; 0 = not by stack */
	uint64_t stack;
};

struct diff {
	const struct gsr_view *views; /* two */
	enum gsr_order order;
	enum gsr_group_by by;
	struct change *changes; /* the largest first */
	size_t count;
	uint64_t before, after;
};

static int64_t growth(uint64_t before, uint64_t after)
{
	return (int64_t)(after - before);
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct change *)left)->key, ((const struct change *)right)->key);
}

/* The name, and by stack those of the frames, each on a line of its own. */
static struct change change_of(const struct diff *diff, unsigned which, const struct gsr_group *group)
{
	const struct gsr_view *view = &diff->views[which];
	uint64_t figure = gsr_use_figure(&group->use, diff->order);
	struct change change = {.name = group->name,
				.before = which == 0 ? figure : 0,
				.after = which == 0 ? 0 : figure,
				.view = view,
				.stack = diff->by == GSR_BY_STACK ? group->stack : 0};
	char text[GSR_CELL_BYTES];
	size_t length = 0;
	FILE *key = open_memstream(&change.key, &length);

	if (key == NULL)
		abort();
	fputs(group->name, key);
	for (uint64_t stack = change.stack; stack != 0; stack = GSR_CELL(&view->model, stacks, parent, stack))
		fprintf(key, "\n%s", gsr_frame_text(view->places, GSR_CELL(&view->model, stacks, frame, stack), text));
	if (fclose(key) != 0)
		abort();
	return change;
}

static int by_change(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	int64_t of_a = llabs(growth(a->before, a->after)), of_b = llabs(growth(b->before, b->after));

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return a->after != b->after ? (a->after > b->after ? -1 : 1) : by_name(left, right);
}

static void diff_read(struct diff *diff)
{
	const struct gsr_usage *before = &diff->views[0].usage, *after = &diff->views[1].usage;
	struct change *changes = calloc(before->count + after->count + 1, sizeof(*changes));
	size_t count = 0, kept = 0;

	if (changes == NULL)
		abort();
	for (size_t i = 0; i < before->count; i++)
		changes[count++] = change_of(diff, 0, &before->groups[i]);
	for (size_t i = 0; i < after->count; i++)
		changes[count++] = change_of(diff, 1, &after->groups[i]);
	qsort(changes, count, sizeof(*changes), by_name);
	for (size_t i = 0; i < count; i++) {
		diff->before += changes[i].before;
		diff->after += changes[i].after;
		if (kept > 0 && by_name(&changes[kept - 1], &changes[i]) == 0) {
			changes[kept - 1].before += changes[i].before;
			changes[kept - 1].after += changes[i].after;
			free(changes[i].key);
		} else {
			changes[kept++] = changes[i];
		}
	}
	qsort(changes, kept, sizeof(*changes), by_change);
	while (kept > 0 && changes[kept - 1].before == changes[kept - 1].after)
		free(changes[--kept].key);
	diff->changes = changes;
	diff->count = kept;
}

static char *figure_text(const struct diff *diff, uint64_t figure, char text[GSR_CELL_BYTES])
{
	return gsr_order_is_bytes(diff->order) ? gsr_bytes(text, figure) : gsr_number(text, figure);
}

static char *change_text(const struct diff *diff, uint64_t before, uint64_t after, char text[GSR_CELL_BYTES])
{
	char size[GSR_CELL_BYTES];

	return gsr_cell(text, "%s%s", after > before ? "+" : after < before ? "-" : "",
			figure_text(diff, (uint64_t)llabs(growth(before, after)), size));
}

static char *share_text(uint64_t before, uint64_t after, char text[GSR_CELL_BYTES])
{
	if (before == 0)
		return strcpy(text, after == 0 ? "-" : "new");
	return gsr_cell(text, "%+.1f %%", 100.0 * ((double)after - (double)before) / (double)before);
}

static void text_print(const struct diff *diff, const struct gsr_options *options)
{
	const char *const heads[] = {"CHANGE", "%", "BEFORE", "AFTER", gsr_group_head(options->by)};
	size_t shown = options->rows != 0 && options->rows < diff->count ? options->rows : diff->count;
	char cells[4][GSR_CELL_BYTES], what[GSR_CELL_BYTES];
	struct gsr_grid *grid;

	gsr_print_title(diff->views[0].path, &diff->views[0].model);
	gsr_print_title(diff->views[1].path, &diff->views[1].model);
	gsr_line("%s, %s: %s, then %s: %s (%s)", gsr_sorts_text(diff->views[0].sorts | diff->views[1].sorts, what),
		 gsr_order_text(diff->order), figure_text(diff, diff->before, cells[0]), figure_text(diff, diff->after, cells[1]),
		 change_text(diff, diff->before, diff->after, cells[2]), share_text(diff->before, diff->after, cells[3]));
	if (diff->count == 0) {
		gsr_line("Nothing has changed.");
		return;
	}
	grid = gsr_grid_new(heads, 5);
	for (size_t i = 0; i < shown; i++) {
		const struct change *change = &diff->changes[i];

		gsr_grid_row(grid, (const char *const[]){change_text(diff, change->before, change->after, cells[0]),
							 share_text(change->before, change->after, cells[1]),
							 figure_text(diff, change->before, cells[2]),
							 figure_text(diff, change->after, cells[3]), change->name});
		for (uint64_t stack = change->stack; stack != 0; stack = GSR_CELL(&change->view->model, stacks, parent, stack))
			gsr_grid_note(grid, gsr_frame_text(change->view->places, GSR_CELL(&change->view->model, stacks, frame, stack), what));
	}
	gsr_grid_print(grid);
	if (shown < diff->count)
		gsr_line("... and %zu more (-n 0 shows all)", diff->count - shown);
}

static cJSON *stack_json(const struct change *change)
{
	const struct gsr_model *model = &change->view->model;
	cJSON *frames = cJSON_CreateArray();
	char text[GSR_CELL_BYTES];

	for (uint64_t stack = change->stack; stack != 0; stack = GSR_CELL(model, stacks, parent, stack))
		cJSON_AddItemToArray(frames, cJSON_CreateString(gsr_frame_text(change->view->places,
									       GSR_CELL(model, stacks, frame, stack), text)));
	return frames;
}

static void json_print(const struct diff *diff, const struct gsr_options *options)
{
	cJSON *object = cJSON_CreateObject(), *rows;
	char what[GSR_CELL_BYTES];

	cJSON_AddStringToObject(object, "before_file", diff->views[0].path);
	cJSON_AddStringToObject(object, "after_file", diff->views[1].path);
	cJSON_AddStringToObject(object, "what", gsr_sorts_text(diff->views[0].sorts | diff->views[1].sorts, what));
	cJSON_AddStringToObject(object, "figure", gsr_order_text(diff->order));
	cJSON_AddNumberToObject(object, "before", (double)diff->before);
	cJSON_AddNumberToObject(object, "after", (double)diff->after);
	rows = cJSON_AddArrayToObject(object, "rows");
	for (size_t i = 0; i < diff->count && (options->rows == 0 || i < options->rows); i++) {
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", diff->changes[i].name);
		cJSON_AddNumberToObject(row, "before", (double)diff->changes[i].before);
		cJSON_AddNumberToObject(row, "after", (double)diff->changes[i].after);
		if (diff->by == GSR_BY_STACK)
			cJSON_AddItemToObject(row, "stack", stack_json(&diff->changes[i]));
		cJSON_AddItemToArray(rows, row);
	}
	gsr_json_print(object);
}

/* Whether it grew by more than --fail-over allows. */
static bool is_over(const struct diff *diff, const struct gsr_options *options)
{
	double grown = (double)diff->after - (double)diff->before;

	if (options->fail_over == NULL || grown <= 0)
		return false;
	return grown > (options->fail_over_is_share ? options->fail_over_value / 100 * (double)diff->before
						    : options->fail_over_value);
}

int gsr_diff(char *const *words, int count, const struct gsr_options *given)
{
	struct gsr_options all = *given;
	const struct gsr_options *options = &all;
	struct gsr_view views[2];
	struct diff diff = {.views = views, .by = options->by, .order = options->order == GSR_ORDER_BEST ? GSR_ORDER_LIVE : options->order};
	bool over;

	if (count != 2) {
		fprintf(stderr, "gpushim-report: diff: two files, the older one first\n");
		return GSR_UNUSABLE;
	}
	if (all.sorts == 0 && all.by == GSR_BY_CLASS)
		all.sorts = (1u << GSR_SORT_COUNT) - 1; /* as top does */
	if (gsr_view_load(words[0], options, &views[0]) != GSR_FINE)
		return GSR_UNUSABLE;
	if (gsr_view_load(words[1], options, &views[1]) != GSR_FINE) {
		gsr_view_drop(&views[0]);
		return GSR_UNUSABLE;
	}
	if (options->order == GSR_ORDER_BEST && views[0].usage.sum.live_bytes == 0 && views[1].usage.sum.live_bytes == 0)
		diff.order = GSR_ORDER_PEAK;
	diff_read(&diff);
	over = is_over(&diff, options);
	if (options->json)
		json_print(&diff, options);
	else
		text_print(&diff, options);
	if (over && !options->json)
		gsr_heading("It grew by more than %s.", options->fail_over);
	for (size_t i = 0; i < diff.count; i++)
		free(diff.changes[i].key);
	free(diff.changes);
	gsr_view_drop(&views[0]);
	gsr_view_drop(&views[1]);
	return over ? GSR_FINDING : GSR_FINE;
}
