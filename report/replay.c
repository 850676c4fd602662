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

static uint32_t origin_get(struct reading *reading, unsigned sort, uint64_t stack, uint64_t thread)
{
	struct gsr_replay *replay = reading->replay;
	uint64_t key = (uint64_t)sort << 60 | (thread & 0xfffffff) << 32 | stack, origin;

	if (gsr_map_find(&reading->origin_of, key, &origin))
		return (uint32_t)origin;
	replay->origins =
		grown(replay->origins, replay->origin_count, &replay->origin_capacity, sizeof(*replay->origins));
	replay->origins[replay->origin_count] = (struct gsr_origin){.sort = sort, .stack = stack, .thread = thread};
	gsr_map_put(&reading->origin_of, key, replay->origin_count);
	return (uint32_t)replay->origin_count++;
}

/* --- what is alive ----------------------------------------------------------------------------------------------- */

struct living {
	unsigned sort;
	uint64_t address, size_bytes, stack, thread;
	int64_t time_ns;
};

/* Calls visit for everything of the wanted sorts that was alive when the snapshot was written. */
static void live_each(struct reading *reading, void (*visit)(struct reading *reading, const struct living *living))
{
	const struct gsr_model *model = reading->model;
	struct living living = {.sort = GSR_SORT_INDEX_BLOCK};

	for (size_t row = 0; row < GSR_ROWS(model, blocks) && (reading->sorts & GSR_SORT_BLOCK) != 0; row++) {
		if (strcmp(GSR_NAME(model, blocks, state, row), "live") != 0)
			continue;
		living.address = GSR_CELL(model, blocks, address, row);
		living.size_bytes = GSR_CELL(model, blocks, size_bytes, row);
		living.stack = GSR_CELL(model, blocks, stack, row);
		living.thread = GSR_CELL(model, blocks, thread, row);
		living.time_ns = (int64_t)GSR_CELL(model, blocks, time_ns, row);
		visit(reading, &living);
	}
	for (size_t row = 0; row < GSR_ROWS(model, live); row++) {
		const char *name = GSR_NAME(model, live, class, row);

		living.sort = GSR_SORT_INDEX_TENSOR;
		while (living.sort < GSR_SORT_COUNT && strcmp(name, gsr_sort_names[living.sort]) != 0)
			living.sort++;
		if ((reading->sorts & 1u << living.sort) == 0)
			continue;
		living.address = GSR_CELL(model, live, address, row);
		living.size_bytes = GSR_CELL(model, live, size_bytes, row);
		living.stack = GSR_CELL(model, live, stack, row);
		living.thread = GSR_CELL(model, live, thread, row);
		living.time_ns = (int64_t)GSR_CELL(model, live, time_ns, row);
		visit(reading, &living);
	}
}

static void live_add(struct reading *reading, const struct living *living)
{
	uint32_t origin = origin_get(reading, living->sort, living->stack, living->thread);
	struct gsr_use *use = &reading->replay->origins[origin].use;

	use->live_bytes += living->size_bytes;
	use->live_count++;
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

static void item_end(struct reading *reading, uint64_t key, uint32_t died)
{
	uint64_t item;

	if (!gsr_map_take(&reading->alive, key, &item))
		return;
	reading->replay->items[item].died = died;
	reading->alive_bytes -= reading->replay->items[item].size_bytes;
}

static void item_begin(struct reading *reading, uint64_t key, uint64_t size_bytes, uint32_t origin, uint32_t born)
{
	struct gsr_replay *replay = reading->replay;

	/* an address that is alive already: its end was not seen */
	item_end(reading, key, born);
	replay->items = grown(replay->items, replay->item_count, &replay->item_capacity, sizeof(*replay->items));
	replay->items[replay->item_count] = (struct gsr_item){size_bytes, origin, born, GSR_NEVER};
	gsr_map_put(&reading->alive, key, replay->item_count++);
	reading->alive_bytes += size_bytes;
}

/* Addresses of two sorts may be equal: a tensor starts where its segment does. */
static uint64_t key_of(unsigned sort, uint64_t address)
{
	return address ^ (uint64_t)sort << 60;
}

/* Where older events are missing, what survived them is there from the start. */
static void seed(struct reading *reading, const struct living *living)
{
	if (living->time_ns < reading->history_start_ns)
		item_begin(reading, key_of(living->sort, living->address), living->size_bytes,
			   origin_get(reading, living->sort, living->stack, living->thread), 0);
}

/* Returns the number of events after which most bytes were alive. */
static uint32_t events_play(struct reading *reading)
{
	const struct gsr_model *model = reading->model;
	struct meaning *meanings = meanings_read(model);
	uint64_t highest = reading->alive_bytes;
	uint32_t peak = 0;

	for (uint32_t row = 0; row < GSR_ROWS(model, events); row++) {
		struct meaning meaning = meanings[GSR_CELL(model, events, type, row)];
		uint64_t key = key_of(meaning.sort, GSR_CELL(model, events, address, row));
		uint64_t size_bytes = GSR_CELL(model, events, size_bytes, row);
		uint32_t origin;

		if ((reading->sorts & 1u << meaning.sort) == 0 || (!meaning.alloc && !meaning.free))
			continue;
		if (meaning.free) {
			item_end(reading, key, row + 1);
			continue;
		}
		origin = origin_get(reading, meaning.sort, GSR_CELL(model, events, stack, row),
				    GSR_CELL(model, events, thread, row));
		item_begin(reading, key, size_bytes, origin, row + 1);
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

void gsr_replay_read(const struct gsr_model *model, unsigned sorts, struct gsr_replay *ret_replay)
{
	struct reading reading = {.model = model, .sorts = sorts, .replay = ret_replay, .history_start_ns = INT64_MAX};

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
