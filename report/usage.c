/* See usage.h. */
#include "report/usage.h"

#include <stdlib.h>
#include <string.h>

#include "report/map.h"

#define NO_GROUP UINT32_MAX

struct reading {
	const struct gsr_model *model;
	struct gsr_places *places;
	struct gsr_categories *categories;
	enum gsr_group_by by;
	struct gsr_usage *usage;
	struct gsr_map group_of_key;
	uint32_t *group_of_stack; /* NO_GROUP = not known yet */
};

static uint64_t text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

static uint32_t group_get(struct reading *reading, uint64_t key, const char *name, uint64_t stack)
{
	struct gsr_usage *usage = reading->usage;
	uint64_t group;

	if (gsr_map_find(&reading->group_of_key, key, &group))
		return (uint32_t)group;
	if (usage->count == usage->capacity) {
		usage->capacity = usage->capacity == 0 ? 64 : usage->capacity * 2;
		usage->groups = realloc(usage->groups, usage->capacity * sizeof(*usage->groups));
		if (usage->groups == NULL)
			abort();
	}
	usage->groups[usage->count] = (struct gsr_group){.name = strdup(name), .stack = stack};
	gsr_map_put(&reading->group_of_key, key, usage->count);
	return (uint32_t)usage->count++;
}

static uint32_t group_of_stack(struct reading *reading, uint64_t stack)
{
	uint64_t line = gsr_places_line(reading->places, stack);
	char text[GSR_CELL_BYTES];

	switch (reading->by) {
	case GSR_BY_FUNCTION:
		gsr_function_text(reading->places, line, text);
		return group_get(reading, text_hash(text), text, stack);
	case GSR_BY_STACK:
		return group_get(reading, stack, gsr_frame_text(reading->places, line, text), stack);
	default:
		return group_get(reading, line, gsr_frame_text(reading->places, line, text), stack);
	}
}

/* "stream 7", "main (4711)", "1.0 MiB to 2.0 MiB" */
static uint32_t group_of_part(struct reading *reading, const struct gsr_origin *origin)
{
	const char *name = gsr_thread_name(reading->model, origin->thread);
	char text[GSR_CELL_BYTES], low[GSR_CELL_BYTES], high[GSR_CELL_BYTES];
	unsigned long long number = reading->by == GSR_BY_THREAD ? origin->thread : origin->part;

	if (reading->by == GSR_BY_STREAM)
		gsr_cell(text, number != 0 ? "stream %llu" : "no stream, or not known", number);
	else if (reading->by == GSR_BY_THREAD)
		gsr_cell(text, name[0] != '\0' ? "thread %llu, %s" : "thread %llu", number, name);
	else
		gsr_cell(text, "%s to %s", gsr_bytes(low, 1ull << number),
			 number < 63 ? gsr_bytes(high, 2ull << number) : "more");
	return group_get(reading, number, text, 0);
}

static uint32_t group_of(struct reading *reading, const struct gsr_origin *origin)
{
	uint32_t *known = &reading->group_of_stack[origin->stack];
	const char *category;

	if (reading->by == GSR_BY_CLASS)
		return group_get(reading, origin->sort, gsr_sort_names[origin->sort], 0);
	if (reading->by == GSR_BY_CATEGORY) {
		category = gsr_category_of(reading->categories, origin->stack, origin->thread);
		return group_get(reading, text_hash(category), category, origin->stack);
	}
	if (reading->by == GSR_BY_STREAM || reading->by == GSR_BY_THREAD || reading->by == GSR_BY_SIZE)
		return group_of_part(reading, origin);
	if (*known == NO_GROUP)
		*known = group_of_stack(reading, origin->stack);
	return *known;
}

static void use_add(struct gsr_use *to, const struct gsr_use *use)
{
	to->live_bytes += use->live_bytes;
	to->live_count += use->live_count;
	to->peak_bytes += use->peak_bytes;
	to->peak_count += use->peak_count;
	to->total_bytes += use->total_bytes;
	to->total_count += use->total_count;
	to->temporary_bytes += use->temporary_bytes;
	to->temporary_count += use->temporary_count;
}

enum gsr_part gsr_part_of(enum gsr_group_by by)
{
	return by == GSR_BY_STREAM ? GSR_PART_STREAM : by == GSR_BY_SIZE ? GSR_PART_SIZE : GSR_PART_NONE;
}

void gsr_usage_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_categories *categories,
		    const struct gsr_replay *replay, enum gsr_group_by by, struct gsr_usage *ret_usage)
{
	size_t stacks = GSR_ROWS(model, stacks) + 1;
	struct reading reading = {.model = model, .places = places, .categories = categories, .by = by, .usage = ret_usage};

	memset(ret_usage, 0, sizeof(*ret_usage));
	ret_usage->complete = replay->complete;
	ret_usage->group_of_origin = calloc(replay->origin_count + 1, sizeof(*ret_usage->group_of_origin));
	reading.group_of_stack = malloc(stacks * sizeof(uint32_t));
	if (ret_usage->group_of_origin == NULL || reading.group_of_stack == NULL)
		abort();
	memset(reading.group_of_stack, 0xff, stacks * sizeof(uint32_t));
	for (size_t i = 0; i < replay->origin_count; i++) {
		const struct gsr_origin *origin = &replay->origins[i];
		uint32_t group = group_of(&reading, origin);

		if (ret_usage->groups[group].stack == origin->stack && ret_usage->groups[group].thread == 0)
			ret_usage->groups[group].thread = origin->thread;
		ret_usage->group_of_origin[i] = group;
		use_add(&ret_usage->groups[group].use, &origin->use);
		use_add(&ret_usage->sum, &origin->use);
	}
	gsr_map_drop(&reading.group_of_key);
	free(reading.group_of_stack);
}

/* --- order ------------------------------------------------------------------------------------------------------- */

uint64_t gsr_use_figure(const struct gsr_use *use, enum gsr_order order)
{
	switch (order) {
	case GSR_ORDER_PEAK:
		return use->peak_bytes;
	case GSR_ORDER_TOTAL:
		return use->total_bytes;
	case GSR_ORDER_COUNT:
		return use->total_count;
	case GSR_ORDER_TEMPORARY:
		return use->temporary_count;
	default:
		return use->live_bytes;
	}
}

const char *gsr_order_text(enum gsr_order order)
{
	static const char *const texts[] = {
	    [GSR_ORDER_BEST] = "bytes alive now",
	    [GSR_ORDER_LIVE] = "bytes alive now",
	    [GSR_ORDER_PEAK] = "bytes alive at the peak",
	    [GSR_ORDER_TOTAL] = "bytes allocated in all",
	    [GSR_ORDER_COUNT] = "number of allocations",
	    [GSR_ORDER_TEMPORARY] = "number of allocations that were freed at once, before the second one after them",
	};

	return texts[order];
}

bool gsr_order_is_bytes(enum gsr_order order)
{
	return order != GSR_ORDER_COUNT && order != GSR_ORDER_TEMPORARY;
}

static int compare(const void *left, const void *right, void *order)
{
	const struct gsr_group *a = left, *b = right;
	uint64_t in_a = gsr_use_figure(&a->use, *(enum gsr_order *)order), in_b = gsr_use_figure(&b->use, *(enum gsr_order *)order);

	if (in_a != in_b)
		return in_a > in_b ? -1 : 1;
	if (a->use.total_bytes != b->use.total_bytes)
		return a->use.total_bytes > b->use.total_bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

enum gsr_order gsr_usage_sort(struct gsr_usage *usage, enum gsr_order order)
{
	if (order == GSR_ORDER_BEST)
		order = usage->sum.live_bytes > 0 ? GSR_ORDER_LIVE : GSR_ORDER_PEAK;
	if (usage->count > 0)
		qsort_r(usage->groups, usage->count, sizeof(*usage->groups), compare, &order);
	return order;
}

size_t gsr_usage_shown(const struct gsr_usage *usage, enum gsr_order order)
{
	size_t shown = 0;

	while (shown < usage->count && gsr_use_figure(&usage->groups[shown].use, order) > 0)
		shown++;
	return shown;
}

void gsr_usage_drop(struct gsr_usage *usage)
{
	for (size_t i = 0; i < usage->count; i++)
		free(usage->groups[i].name);
	free(usage->groups);
	free(usage->group_of_origin);
	memset(usage, 0, sizeof(*usage));
}
