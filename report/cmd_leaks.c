/* gpushim-report leaks: the places whose memory keeps growing while the rest of the program frees what it allocates.
 *
 * The history is cut into slices of equally many events. A place grows when it allocated in nearly all of them, lately too,
 * something that was never freed. What is kept from the start (parameters) or was made just now (activations, in the middle
 * of a step) fills one or two slices. Where not even half of what was allocated was freed again, a program is still starting
 * and everything grows: then nothing is said. */
#include <stdlib.h>
#include <string.h>

#include "report/command.h"

#define SLICES 8u
#define SLICES_LEAST 6u /* with something kept, of these one of the last two */
#define COUNT_LEAST 8u

struct growth {
	unsigned slices; /* a bit for each in which something was kept */
	uint64_t kept_bytes, kept_count;
	uint64_t allocations; /* in the history */
};

struct finding {
	const struct gsr_model *model;
	struct gsr_usage *usage;
	struct growth *growth; /* by group */
	uint64_t born, died;   /* items of the history */
	double seconds;	       /* from its first event to the snapshot */
	size_t count;	       /* of groups that grow */
	bool settled;
};

static double history_seconds(const struct gsr_model *model)
{
	int64_t end_ns = (int64_t)gsr_count(model->meta, GS_KEY(meta, elapsed_ns));

	return GSR_ROWS(model, events) == 0 ? 0
					    : (double)(end_ns - (int64_t)GSR_CELL(model, events, time_delta_ns, 0)) / 1e9;
}

static bool grows(const struct growth *growth)
{
	return __builtin_popcount(growth->slices) >= (int)SLICES_LEAST && growth->slices >> (SLICES - 2) != 0 &&
	       growth->kept_count >= COUNT_LEAST;
}

static void growth_read(struct finding *finding, const struct gsr_replay *replay)
{
	size_t events = GSR_ROWS(finding->model, events);

	for (size_t i = 0; i < replay->item_count; i++) {
		const struct gsr_item *item = &replay->items[i];
		struct growth *growth = &finding->growth[finding->usage->group_of_origin[item->origin]];

		if (item->born == 0)
			continue;
		finding->born++;
		growth->allocations++;
		if (item->died != GSR_NEVER) {
			finding->died++;
			continue;
		}
		growth->slices |= 1u << ((uint64_t)(item->born - 1) * SLICES / events);
		growth->kept_bytes += item->size_bytes;
		growth->kept_count++;
	}
	finding->settled = 2 * finding->died >= finding->born && finding->born > 0;
	for (size_t group = 0; group < finding->usage->count; group++)
		finding->count += grows(&finding->growth[group]);
}

static int by_growth(const void *left, const void *right, void *growth)
{
	const struct growth *a = (struct growth *)growth + *(const uint32_t *)left;
	const struct growth *b = (struct growth *)growth + *(const uint32_t *)right;

	return a->kept_bytes > b->kept_bytes ? -1 : a->kept_bytes < b->kept_bytes;
}

/* The groups that grow, most bytes first. The caller frees them. */
static uint32_t *groups_sorted(const struct finding *finding)
{
	uint32_t *groups = calloc(finding->usage->count + 1, sizeof(*groups)), count = 0;

	if (groups == NULL)
		abort();
	for (uint32_t group = 0; group < finding->usage->count; group++)
		if (grows(&finding->growth[group]))
			groups[count++] = group;
	qsort_r(groups, count, sizeof(*groups), by_growth, finding->growth);
	return groups;
}

static void table_print(const struct finding *finding, const uint32_t *groups, unsigned rows)
{
	static const char *const heads[] = {"GREW BY", "A SECOND", "IN", "KEPT", "LIVE", "LINE"};
	struct gsr_grid *grid = gsr_grid_new(heads, 6);

	for (size_t i = 0; i < finding->count && (rows == 0 || i < rows); i++) {
		const struct growth *growth = &finding->growth[groups[i]];
		const struct gsr_group *group = &finding->usage->groups[groups[i]];
		uint64_t rate = finding->seconds > 0 ? (uint64_t)((double)growth->kept_bytes / finding->seconds) : 0;
		char cells[5][GSR_CELL_BYTES];

		gsr_grid_row(grid, (const char *const[]){
				       gsr_bytes(cells[0], growth->kept_bytes), gsr_bytes(cells[1], rate),
				       gsr_number(cells[2], growth->kept_count),
				       gsr_share(cells[3], growth->kept_count, growth->allocations),
				       gsr_bytes(cells[4], group->use.live_bytes), group->name});
	}
	gsr_grid_print(grid);
	if (rows != 0 && rows < finding->count)
		gsr_line("... and %zu more (-n 0 shows all)", finding->count - rows);
}

static void text_print(const struct finding *finding, const struct gsr_options *options)
{
	char freed[GSR_CELL_BYTES], span[GSR_CELL_BYTES], number[GSR_CELL_BYTES];
	uint32_t *groups;

	gsr_share(freed, finding->died, finding->born);
	if (!gsr_history_kept(finding->model) || finding->born == 0) {
		gsr_line("Nothing can be said: the snapshot has no history of allocations (history:N keeps one).");
		return;
	}
	if (!finding->settled) {
		gsr_line("Too early to tell: only %s of the %s allocations in the history were freed again.", freed,
			 gsr_number(number, finding->born));
		return;
	}
	gsr_line("%s of the %s allocations in the last %s were freed again.", freed, gsr_number(number, finding->born),
		 gsr_duration(span, (uint64_t)(finding->seconds * 1e9)));
	if (finding->count == 0) {
		gsr_line("No leak found: no place keeps growing.");
		return;
	}
	groups = groups_sorted(finding);
	gsr_heading("%zu %s growing:", finding->count, finding->count == 1 ? "place keeps" : "places keep");
	table_print(finding, groups, options->rows);
	free(groups);
}

static void json_print(const char *path, const struct finding *finding, const struct gsr_options *options)
{
	uint32_t *groups = groups_sorted(finding);
	cJSON *object = cJSON_CreateObject(), *rows;
	size_t count = finding->settled ? finding->count : 0;

	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddNumberToObject(object, "allocations", (double)finding->born);
	cJSON_AddNumberToObject(object, "freed", (double)finding->died);
	cJSON_AddNumberToObject(object, "seconds", finding->seconds);
	cJSON_AddBoolToObject(object, "settled", finding->settled);
	rows = cJSON_AddArrayToObject(object, "rows");
	for (size_t i = 0; i < count && (options->rows == 0 || i < options->rows); i++) {
		const struct growth *growth = &finding->growth[groups[i]];
		const struct gsr_group *group = &finding->usage->groups[groups[i]];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", group->name);
		cJSON_AddNumberToObject(row, "grew_bytes", (double)growth->kept_bytes);
		cJSON_AddNumberToObject(row, "grew_count", (double)growth->kept_count);
		cJSON_AddNumberToObject(row, "allocations", (double)growth->allocations);
		cJSON_AddNumberToObject(row, "live_bytes", (double)group->use.live_bytes);
		cJSON_AddNumberToObject(row, "live_count", (double)group->use.live_count);
		cJSON_AddItemToArray(rows, row);
	}
	free(groups);
	gsr_json_print(object);
}

int gsr_leaks(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_categories *categories = gsr_command_categories(model, places, options);
	unsigned sorts = options->sorts != 0 ? options->sorts : gsr_sorts_default(model) | GSR_SORT_HOST;
	struct finding finding = {.model = model, .seconds = history_seconds(model)};
	struct gsr_replay replay;
	struct gsr_usage usage;

	if (categories == NULL) {
		gsr_places_drop(places);
		return GSR_UNUSABLE;
	}
	gsr_replay_read(model, sorts, gsr_part_of(options->by), &replay);
	gsr_usage_read(model, places, categories, &replay, options->by, &usage);
	finding.usage = &usage;
	finding.growth = calloc(usage.count + 1, sizeof(*finding.growth));
	if (finding.growth == NULL)
		abort();
	growth_read(&finding, &replay);
	if (options->json) {
		json_print(path, &finding, options);
	} else {
		gsr_print_title(path, model);
		text_print(&finding, options);
	}
	free(finding.growth);
	gsr_usage_drop(&usage);
	gsr_replay_drop(&replay);
	gsr_categories_drop(categories);
	gsr_places_drop(places);
	return finding.settled && finding.count > 0 ? GSR_FINDING : GSR_FINE;
}
