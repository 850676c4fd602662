/* See usage.h. */
#include "report/usage.h"

#include <stdlib.h>
#include <string.h>

#include "report/map.h"

const char *const gsr_sort_names[GSR_SORT_COUNT] = {
#define SORT_NAME(name, text) text,
    GSR_SORTS(SORT_NAME)
#undef SORT_NAME
};

#define NO_GROUP UINT32_MAX

/* The state of a replay: what is alive, by address and sort, as rows of the items. */
struct replay {
	struct gsr_map alive;
	struct item {
		uint64_t size_bytes;
		uint32_t group;
	} * items;
	size_t count, capacity;
	uint64_t bytes;
};

struct reading {
	const struct gsr_model *model;
	struct gsr_places *places;
	struct gsr_categories *categories;
	enum gsr_group_by by;
	unsigned sorts;
	struct gsr_usage *usage;
	struct gsr_map group_of_key;
	uint32_t *group_of_stack; /* NO_GROUP = not known yet */
	uint32_t group_of_sort[GSR_SORT_COUNT];
	struct replay *seeded;	  /* gets what was alive before the history began */
	int64_t history_start_ns; /* the first event */
};

unsigned gsr_sorts_default(const struct gsr_model *model)
{
	if (gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count)) > 0)
		return GSR_SORT_TENSOR;
	return GSR_SORT_BLOCK | GSR_SORT_DRIVER;
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

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

static uint32_t group_of(struct reading *reading, unsigned sort, uint64_t stack, uint64_t thread)
{
	char text[GSR_CELL_BYTES];
	const char *category;
	uint64_t line, key;
	uint32_t *known = reading->by == GSR_BY_CLASS ? &reading->group_of_sort[sort] : &reading->group_of_stack[stack];

	if (reading->by == GSR_BY_CATEGORY) {
		category = gsr_category_of(reading->categories, stack, thread);
		return group_get(reading, text_hash(category), category, stack);
	}
	if (*known != NO_GROUP)
		return *known;
	line = gsr_places_line(reading->places, stack);
	switch (reading->by) {
	case GSR_BY_CLASS:
		*known = group_get(reading, sort, gsr_sort_names[sort], 0);
		return *known;
	case GSR_BY_FUNCTION:
		gsr_function_text(reading->places, line, text);
		key = text_hash(text);
		break;
	case GSR_BY_STACK:
		gsr_frame_text(reading->places, line, text);
		key = stack;
		break;
	default:
		gsr_frame_text(reading->places, line, text);
		key = line;
		break;
	}
	*known = group_get(reading, key, text, stack);
	return *known;
}

/* --- what is alive ----------------------------------------------------------------------------------------------- */

/* Calls visit for everything of the wanted sorts that was alive when the snapshot was written. */
static void live_each(struct reading *reading, void (*visit)(struct reading *reading, unsigned sort, uint64_t address,
							     uint64_t size_bytes, uint64_t stack, uint64_t thread,
							     int64_t time_ns))
{
	const struct gsr_model *model = reading->model;

	for (size_t row = 0; row < GSR_ROWS(model, blocks) && (reading->sorts & GSR_SORT_BLOCK) != 0; row++)
		if (strcmp(GSR_NAME(model, blocks, state, row), "live") == 0)
			visit(reading, GSR_SORT_INDEX_BLOCK, GSR_CELL(model, blocks, address, row),
			      GSR_CELL(model, blocks, size_bytes, row), GSR_CELL(model, blocks, stack, row),
			      GSR_CELL(model, blocks, thread, row), (int64_t)GSR_CELL(model, blocks, time_ns, row));
	for (size_t row = 0; row < GSR_ROWS(model, live); row++) {
		const char *name = GSR_NAME(model, live, class, row);

		for (unsigned sort = GSR_SORT_INDEX_TENSOR; sort < GSR_SORT_COUNT; sort++)
			if ((reading->sorts & 1u << sort) != 0 && strcmp(name, gsr_sort_names[sort]) == 0)
				visit(reading, sort, GSR_CELL(model, live, address, row),
				      GSR_CELL(model, live, size_bytes, row), GSR_CELL(model, live, stack, row),
				      GSR_CELL(model, live, thread, row),
				      (int64_t)GSR_CELL(model, live, time_ns, row));
	}
}

static void live_add(struct reading *reading, unsigned sort, uint64_t address, uint64_t size_bytes, uint64_t stack,
		     uint64_t thread, int64_t time_ns)
{
	uint32_t group = group_of(reading, sort, stack, thread);
	struct gsr_use *use = &reading->usage->groups[group].use, *sum = &reading->usage->sum;

	(void)address;
	(void)time_ns;
	use->live_bytes += size_bytes;
	use->live_count++;
	sum->live_bytes += size_bytes;
	sum->live_count++;
}

/* --- what happened ----------------------------------------------------------------------------------------------- */

/* What an event means, by the index of its name. */
struct meaning {
	bool alloc, free;
	unsigned sort;
};

static struct meaning *meanings_read(const struct gsr_model *model)
{
	static const struct {
		const char *name;
		struct meaning meaning;
	} known[] = {
	    {"alloc", {true, false, GSR_SORT_INDEX_BLOCK}},
	    {"free", {false, true, GSR_SORT_INDEX_BLOCK}},
	    {"tensor_alloc", {true, false, GSR_SORT_INDEX_TENSOR}},
	    {"tensor_free", {false, true, GSR_SORT_INDEX_TENSOR}},
	    {"host_alloc", {true, false, GSR_SORT_INDEX_HOST}},
	    {"host_free", {false, true, GSR_SORT_INDEX_HOST}},
	    {"driver_alloc", {true, false, GSR_SORT_INDEX_DRIVER}},
	    {"driver_free", {false, true, GSR_SORT_INDEX_DRIVER}},
	};
	const struct gsr_texts *names = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];
	struct meaning *meanings = calloc(names->count + 1, sizeof(*meanings));

	if (meanings == NULL)
		abort();
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t name = gsr_name_find(names, known[i].name);

		if (name < names->count)
			meanings[name] = known[i].meaning;
	}
	return meanings;
}

static void replay_alloc(struct replay *replay, uint64_t key, uint64_t size_bytes, uint32_t group)
{
	uint64_t old;

	/* an address that is alive already: its end was not seen */
	if (gsr_map_take(&replay->alive, key, &old))
		replay->bytes -= replay->items[old].size_bytes;
	if (replay->count == replay->capacity) {
		replay->capacity = replay->capacity == 0 ? 1024 : replay->capacity * 2;
		replay->items = realloc(replay->items, replay->capacity * sizeof(*replay->items));
		if (replay->items == NULL)
			abort();
	}
	replay->items[replay->count] = (struct item){size_bytes, group};
	gsr_map_put(&replay->alive, key, replay->count++);
	replay->bytes += size_bytes;
}

static void replay_free(struct replay *replay, uint64_t key)
{
	uint64_t item;

	if (gsr_map_take(&replay->alive, key, &item))
		replay->bytes -= replay->items[item].size_bytes;
}

static void replay_drop(struct replay *replay)
{
	gsr_map_drop(&replay->alive);
	free(replay->items);
}

/* Addresses of two sorts may be equal: a tensor starts where its segment does. */
static uint64_t key_of(unsigned sort, uint64_t address)
{
	return address ^ (uint64_t)sort << 60;
}

static void seed(struct reading *reading, unsigned sort, uint64_t address, uint64_t size_bytes, uint64_t stack,
		 uint64_t thread, int64_t time_ns)
{
	if (time_ns < reading->history_start_ns)
		replay_alloc(reading->seeded, key_of(sort, address), size_bytes,
			     group_of(reading, sort, stack, thread));
}

/* Where older events are missing, what survived them is there from the start. */
static void replay_begin(struct reading *reading, struct replay *replay)
{
	const struct gsr_model *model = reading->model;

	if (reading->usage->complete)
		return;
	reading->history_start_ns =
	    GSR_ROWS(model, events) > 0 ? (int64_t)GSR_CELL(model, events, time_delta_ns, 0) : INT64_MAX;
	reading->seeded = replay;
	live_each(reading, seed);
}

/* Replays events [0, end). Returns the number of events after which most bytes were alive. */
static size_t replay_run(struct reading *reading, const struct meaning *meanings, struct replay *replay, size_t end,
			 bool count_totals)
{
	const struct gsr_model *model = reading->model;
	uint64_t highest = replay->bytes;
	size_t peak = 0;

	for (size_t row = 0; row < end; row++) {
		struct meaning meaning = meanings[GSR_CELL(model, events, type, row)];
		uint64_t key = key_of(meaning.sort, GSR_CELL(model, events, address, row));
		uint64_t size_bytes = GSR_CELL(model, events, size_bytes, row);
		uint32_t group;

		if ((reading->sorts & 1u << meaning.sort) == 0 || (!meaning.alloc && !meaning.free))
			continue;
		if (meaning.free) {
			replay_free(replay, key);
			continue;
		}
		group = group_of(reading, meaning.sort, GSR_CELL(model, events, stack, row),
				 GSR_CELL(model, events, thread, row));
		replay_alloc(replay, key, size_bytes, group);
		if (replay->bytes > highest) {
			highest = replay->bytes;
			peak = row + 1;
		}
		if (count_totals) {
			reading->usage->groups[group].use.total_bytes += size_bytes;
			reading->usage->groups[group].use.total_count++;
			reading->usage->sum.total_bytes += size_bytes;
			reading->usage->sum.total_count++;
		}
	}
	return peak;
}

static void peak_read(struct reading *reading)
{
	struct meaning *meanings = meanings_read(reading->model);
	struct replay whole = {0}, until = {0};
	size_t peak;

	replay_begin(reading, &whole);
	peak = replay_run(reading, meanings, &whole, GSR_ROWS(reading->model, events), true);
	replay_begin(reading, &until);
	replay_run(reading, meanings, &until, peak, false);
	for (size_t slot = 0; slot < until.alive.slot_count; slot++) {
		const struct item *item;

		if (!until.alive.slots[slot].used)
			continue;
		item = &until.items[until.alive.slots[slot].value];
		reading->usage->groups[item->group].use.peak_bytes += item->size_bytes;
		reading->usage->groups[item->group].use.peak_count++;
		reading->usage->sum.peak_bytes += item->size_bytes;
		reading->usage->sum.peak_count++;
	}
	replay_drop(&whole);
	replay_drop(&until);
	free(meanings);
}

void gsr_usage_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_categories *categories,
		    unsigned sorts, enum gsr_group_by by, struct gsr_usage *ret_usage)
{
	size_t stacks = GSR_ROWS(model, stacks) + 1;
	struct reading reading = {
	    .model = model, .places = places, .categories = categories, .by = by, .sorts = sorts, .usage = ret_usage};

	memset(ret_usage, 0, sizeof(*ret_usage));
	ret_usage->complete = gsr_history_complete(model);
	reading.group_of_stack = malloc(stacks * sizeof(uint32_t));
	if (reading.group_of_stack == NULL)
		abort();
	memset(reading.group_of_stack, 0xff, stacks * sizeof(uint32_t));
	memset(reading.group_of_sort, 0xff, sizeof(reading.group_of_sort));
	live_each(&reading, live_add);
	peak_read(&reading);
	gsr_map_drop(&reading.group_of_key);
	free(reading.group_of_stack);
}

/* --- order ------------------------------------------------------------------------------------------------------- */

static uint64_t figure(const struct gsr_use *use, enum gsr_order order)
{
	switch (order) {
	case GSR_ORDER_PEAK:
		return use->peak_bytes;
	case GSR_ORDER_TOTAL:
		return use->total_bytes;
	case GSR_ORDER_COUNT:
		return use->total_count;
	default:
		return use->live_bytes;
	}
}

static int compare(const void *left, const void *right, void *order)
{
	const struct gsr_group *a = left, *b = right;
	uint64_t in_a = figure(&a->use, *(enum gsr_order *)order), in_b = figure(&b->use, *(enum gsr_order *)order);

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

	while (shown < usage->count && figure(&usage->groups[shown].use, order) > 0)
		shown++;
	return shown;
}

void gsr_usage_drop(struct gsr_usage *usage)
{
	for (size_t i = 0; i < usage->count; i++)
		free(usage->groups[i].name);
	free(usage->groups);
	memset(usage, 0, sizeof(*usage));
}
