/* See replay.h. */
#include "report/replay.h"

#include <stdlib.h>
#include <string.h>

#include "report/map.h"

const char *const gsr_sort_names[GSR_SORT_COUNT] = {
#define SORT_NAME(name, text) text,
    GSR_SORTS(SORT_NAME)
#undef SORT_NAME
};

struct reading {
	const struct gsr_model *model;
	unsigned sorts;
	enum gsr_part part;
	struct gsr_replay *replay;
	struct gsr_map origin_of;
	struct gsr_map alive;	  /* items, by address and sort */
	uint64_t alive_bytes;	  /* of these */
	int64_t history_start_ns; /* the first event */
};

unsigned gsr_sorts_default(const struct gsr_model *model)
{
	if (gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count)) > 0)
		return GSR_SORT_TENSOR;
	return GSR_SORT_BLOCK | GSR_SORT_DRIVER;
}

static void *grown(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity == 0 ? 256 : *capacity * 2;
	array = realloc(array, *capacity * item_bytes);
	if (array == NULL)
		abort();
	return array;
}

/* An allocation, as the snapshot has it. */
struct source {
	unsigned sort;
	uint64_t stack, thread, stream, size_bytes, address, device;
};

static uint32_t origin_get(struct reading *reading, const struct source *source)
{
	struct gsr_replay *replay = reading->replay;
	uint64_t part = reading->part == GSR_PART_STREAM ? source->stream
			: reading->part == GSR_PART_SIZE && source->size_bytes > 0
			    ? (uint64_t)(63 - __builtin_clzll(source->size_bytes))
			    : 0;
	uint64_t key = reading->part == GSR_PART_NONE ? (source->thread & 0xfffffff) << 32 | source->stack : part, origin;

	key ^= (uint64_t)source->sort << 60;

	if (gsr_map_find(&reading->origin_of, key, &origin))
		return (uint32_t)origin;
	replay->origins =
		grown(replay->origins, replay->origin_count, &replay->origin_capacity, sizeof(*replay->origins));
	replay->origins[replay->origin_count] = (struct gsr_origin){
	    .sort = source->sort, .stack = source->stack, .thread = source->thread, .part = part};
	gsr_map_put(&reading->origin_of, key, replay->origin_count);
	return (uint32_t)replay->origin_count++;
}

/* --- what is alive ----------------------------------------------------------------------------------------------- */

struct living {
	struct source source;
	int64_t time_ns;
};

/* Calls visit for everything of the wanted sorts that was alive when the snapshot was written. */
static void live_each(struct reading *reading, void (*visit)(struct reading *reading, const struct living *living))
{
	const struct gsr_model *model = reading->model;
	struct living living = {.source.sort = GSR_SORT_INDEX_BLOCK};
	struct source *source = &living.source;

	for (size_t row = 0; row < GSR_ROWS(model, blocks) && (reading->sorts & GSR_SORT_BLOCK) != 0; row++) {
		if (strcmp(GSR_NAME(model, blocks, state, row), "live") != 0)
			continue;
		source->address = GSR_CELL(model, blocks, address, row);
		source->device = GSR_CELL(model, segments, device, GSR_CELL(model, blocks, segment, row));
		source->size_bytes = GSR_CELL(model, blocks, size_bytes, row);
		source->stack = GSR_CELL(model, blocks, stack, row);
		source->thread = GSR_CELL(model, blocks, thread, row);
		source->stream = GSR_CELL(model, blocks, stream, row);
		living.time_ns = (int64_t)GSR_CELL(model, blocks, time_ns, row);
		visit(reading, &living);
	}
	for (size_t row = 0; row < GSR_ROWS(model, live); row++) {
		const char *name = GSR_NAME(model, live, class, row);

		source->sort = GSR_SORT_INDEX_TENSOR;
		while (source->sort < GSR_SORT_COUNT && strcmp(name, gsr_sort_names[source->sort]) != 0)
			source->sort++;
		if ((reading->sorts & 1u << source->sort) == 0)
			continue;
		source->address = GSR_CELL(model, live, address, row);
		source->device = GSR_CELL(model, live, device, row);
		source->size_bytes = GSR_CELL(model, live, size_bytes, row);
		source->stack = GSR_CELL(model, live, stack, row);
		source->thread = GSR_CELL(model, live, thread, row);
		source->stream = 0;
		living.time_ns = (int64_t)GSR_CELL(model, live, time_ns, row);
		visit(reading, &living);
	}
}

static void live_add(struct reading *reading, const struct living *living)
{
	uint32_t origin = origin_get(reading, &living->source);
	struct gsr_use *use = &reading->replay->origins[origin].use;

	use->live_bytes += living->source.size_bytes;
	use->live_count++;
}

/* --- what happened ----------------------------------------------------------------------------------------------- */

struct gsr_meaning *gsr_event_meanings(const struct gsr_model *model)
{
	static const struct {
		const char *name;
		struct gsr_meaning meaning;
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
	struct gsr_meaning *meanings = calloc(names->count + 1, sizeof(*meanings));

	if (meanings == NULL)
		abort();
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t name = gsr_name_find(names, known[i].name);

		if (name < names->count)
			meanings[name] = known[i].meaning;
	}
	return meanings;
}

static void item_end(struct reading *reading, uint64_t key, uint32_t died)
{
	struct gsr_replay *replay = reading->replay;
	const struct gsr_item *ended;
	uint64_t item;

	if (!gsr_map_take(&reading->alive, key, &item))
		return;
	ended = &replay->items[item];
	replay->items[item].died = died;
	reading->alive_bytes -= ended->size_bytes;
	if (ended->born > 0 && replay->item_count - 1 - item <= 1) {
		replay->origins[ended->origin].use.temporary_bytes += ended->size_bytes;
		replay->origins[ended->origin].use.temporary_count++;
	}
}

/* Addresses of two sorts may be equal: a tensor starts where its segment does. */
static uint64_t key_of(unsigned sort, uint64_t address)
{
	return address ^ (uint64_t)sort << 60;
}

/* Returns its origin. */
static uint32_t item_begin(struct reading *reading, const struct source *source, uint32_t born)
{
	struct gsr_replay *replay = reading->replay;
	uint64_t key = key_of(source->sort, source->address);
	uint32_t origin = origin_get(reading, source);

	/* an address that is alive already: its end was not seen */
	item_end(reading, key, born);
	replay->items = grown(replay->items, replay->item_count, &replay->item_capacity, sizeof(*replay->items));
	replay->items[replay->item_count] = (struct gsr_item){.size_bytes = source->size_bytes,
							       .key = key,
							       .device = (uint32_t)source->device,
							       .origin = origin,
							       .born = born,
							       .died = GSR_NEVER};
	gsr_map_put(&reading->alive, key, replay->item_count++);
	reading->alive_bytes += source->size_bytes;
	return origin;
}

/* Where older events are missing, what survived them is there from the start. */
static void seed(struct reading *reading, const struct living *living)
{
	if (living->time_ns < reading->history_start_ns)
		item_begin(reading, &living->source, 0);
}

/* Returns the number of events after which most bytes were alive. */
static uint32_t events_play(struct reading *reading)
{
	const struct gsr_model *model = reading->model;
	struct gsr_meaning *meanings = gsr_event_meanings(model);
	uint64_t highest = reading->alive_bytes;
	uint32_t peak = 0;

	for (uint32_t row = 0; row < GSR_ROWS(model, events); row++) {
		struct gsr_meaning meaning = meanings[GSR_CELL(model, events, type, row)];
		uint64_t address = GSR_CELL(model, events, address, row);
		uint64_t size_bytes = GSR_CELL(model, events, size_bytes, row);
		struct source source;
		uint32_t origin;

		if ((reading->sorts & 1u << meaning.sort) == 0 || (!meaning.begins && !meaning.ends))
			continue;
		if (meaning.ends) {
			item_end(reading, key_of(meaning.sort, address), row + 1);
			continue;
		}
		source = (struct source){.sort = meaning.sort,
					 .stack = GSR_CELL(model, events, stack, row),
					 .thread = GSR_CELL(model, events, thread, row),
					 .stream = GSR_CELL(model, events, stream, row),
					 .size_bytes = size_bytes,
					 .address = address,
					 .device = GSR_CELL(model, events, device, row)};
		origin = item_begin(reading, &source, row + 1);
		reading->replay->origins[origin].use.total_bytes += size_bytes;
		reading->replay->origins[origin].use.total_count++;
		if (reading->alive_bytes > highest) {
			highest = reading->alive_bytes;
			peak = row + 1;
		}
	}
	free(meanings);
	return peak;
}

static void peak_add(struct gsr_replay *replay, uint32_t peak)
{
	for (size_t i = 0; i < replay->item_count; i++) {
		const struct gsr_item *item = &replay->items[i];

		if (item->born <= peak && item->died > peak) {
			replay->origins[item->origin].use.peak_bytes += item->size_bytes;
			replay->origins[item->origin].use.peak_count++;
		}
	}
}

void gsr_replay_read(const struct gsr_model *model, unsigned sorts, enum gsr_part part, struct gsr_replay *ret_replay)
{
	struct reading reading = {
	    .model = model, .sorts = sorts, .part = part, .replay = ret_replay, .history_start_ns = INT64_MAX};

	memset(ret_replay, 0, sizeof(*ret_replay));
	ret_replay->complete = gsr_history_complete(model);
	live_each(&reading, live_add);
	if (!ret_replay->complete) {
		if (GSR_ROWS(model, events) > 0)
			reading.history_start_ns = (int64_t)GSR_CELL(model, events, time_delta_ns, 0);
		live_each(&reading, seed);
	}
	peak_add(ret_replay, events_play(&reading));
	gsr_map_drop(&reading.origin_of);
	gsr_map_drop(&reading.alive);
}

void gsr_replay_drop(struct gsr_replay *replay)
{
	free(replay->origins);
	free(replay->items);
}

int64_t *gsr_event_times(const struct gsr_model *model)
{
	int64_t *times = malloc((GSR_ROWS(model, events) + 1) * sizeof(*times));
	uint64_t time_ns = 0;

	if (times == NULL)
		abort();
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		time_ns += GSR_CELL(model, events, time_delta_ns, row);
		times[row] = (int64_t)time_ns;
	}
	return times;
}

void gsr_steps_read(const struct gsr_replay *replay, size_t event_count, struct gsr_steps *ret_steps)
{
	ret_steps->begun = calloc(event_count + 1, sizeof(*ret_steps->begun));
	ret_steps->ended = calloc(event_count + 1, sizeof(*ret_steps->ended));
	if (ret_steps->begun == NULL || ret_steps->ended == NULL)
		abort();
	for (size_t i = 0; i < replay->item_count; i++) {
		const struct gsr_item *item = &replay->items[i];

		if (item->born > 0)
			ret_steps->begun[item->born - 1] = (uint32_t)i + 1;
		if (item->died != GSR_NEVER && item->died > 0)
			ret_steps->ended[item->died - 1] = (uint32_t)i + 1;
	}
}

void gsr_steps_drop(struct gsr_steps *steps)
{
	free(steps->begun);
	free(steps->ended);
}
