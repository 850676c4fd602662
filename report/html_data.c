/* See html_data.h. Texts are written once and named by number, and columns hold differences where those are small. */
#include "report/html_data.h"

#include <stdlib.h>
#include <string.h>

#include "report/finding.h"
#include "report/html_state.h"
#include "report/map.h"
#include "report/steps.h"

#define SORTS_ALL ((1u << GSR_SORT_COUNT) - 1)

/* Bits of the column frame_kind. */
enum { KIND_CORE = 1, KIND_PYTHON = 2, KIND_NATIVE = 4 };

struct making {
	const struct gsr_model *model;
	struct gsr_places *places;
	struct gsr_categories *categories;
	struct gsr_pack *pack;
	cJSON *texts;
	struct gsr_map text_of; /* by hash */
	uint64_t text_count;
};

static uint64_t text_put(struct making *making, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u, number;

	for (const char *at = text; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	if (gsr_map_find(&making->text_of, hash, &number))
		return number;
	gsr_map_put(&making->text_of, hash, making->text_count);
	cJSON_AddItemToArray(making->texts, cJSON_CreateString(text));
	return making->text_count++;
}

static void column_put(struct making *making, const char *name, const struct gsr_table *table, unsigned column)
{
	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < table->rows; row++)
		gsr_pack_put(making->pack, table->column[column][row]);
	gsr_pack_end(making->pack, name);
}

/* --- where ------------------------------------------------------------------------------------------------------- */

static void frames_put(struct making *making)
{
	const struct gsr_model *model = making->model;
	size_t rows = GSR_ROWS(model, frames);
	char text[GSR_CELL_BYTES];

	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < rows; row++)
		gsr_pack_put(making->pack, text_put(making, gsr_frame_text(making->places, row, text)));
	gsr_pack_end(making->pack, "frame_place");
	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < rows; row++)
		gsr_pack_put(making->pack, text_put(making, gsr_function_text(making->places, row, text)));
	gsr_pack_end(making->pack, "frame_function");
	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < rows; row++) {
		const char *kind = GSR_NAME(model, frames, kind, row);

		gsr_pack_put(making->pack, (row > 0 && gsr_places_is_core(making->places, row) ? KIND_CORE : 0) |
					       (strcmp(kind, "python") == 0 ? KIND_PYTHON : 0) |
					       (strcmp(kind, "native") == 0 ? KIND_NATIVE : 0));
	}
	gsr_pack_end(making->pack, "frame_kind");
}

static void stacks_put(struct making *making)
{
	const struct gsr_model *model = making->model;

	frames_put(making);
	column_put(making, "stack_parent", GSR_TABLE(model, stacks), GS_SNAP_stacks_parent);
	column_put(making, "stack_frame", GSR_TABLE(model, stacks), GS_SNAP_stacks_frame);
	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < GSR_ROWS(model, stacks); row++)
		gsr_pack_put(making->pack, gsr_places_line(making->places, row));
	gsr_pack_end(making->pack, "stack_line");
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void origins_put(struct making *making, const struct gsr_replay *replay)
{
#define PUT_ORIGINS(name, value)                                                                                       \
	gsr_pack_begin(making->pack);                                                                                  \
	for (size_t i = 0; i < replay->origin_count; i++)                                                              \
		gsr_pack_put(making->pack, value);                                                                     \
	gsr_pack_end(making->pack, name)

	const struct gsr_origin *origins = replay->origins;

	PUT_ORIGINS("origin_sort", origins[i].sort);
	PUT_ORIGINS("origin_stack", origins[i].stack);
	PUT_ORIGINS("origin_thread", origins[i].thread);
	PUT_ORIGINS("origin_category",
		    text_put(making, gsr_category_of(making->categories, origins[i].stack, origins[i].thread)));
#undef PUT_ORIGINS
}

static void items_put(struct making *making, const struct gsr_replay *replay, const struct gsr_state *state)
{
#define PUT_ITEMS(name, value)                                                                                         \
	gsr_pack_begin(making->pack);                                                                                  \
	for (size_t i = 0; i < replay->item_count; i++)                                                                \
		gsr_pack_put(making->pack, value);                                                                     \
	gsr_pack_end(making->pack, name)
#define LIFE(from, to) ((to) == GSR_NEVER ? 0 : (uint64_t)(to) - (from) + 1)

	const struct gsr_item *items = replay->items;
	uint64_t before = 0;

	PUT_ITEMS("item_size", items[i].size_bytes);
	PUT_ITEMS("item_origin", items[i].origin);
	PUT_ITEMS("item_device", items[i].device);
	PUT_ITEMS("item_born", items[i].born - (i > 0 ? items[i - 1].born : 0));
	PUT_ITEMS("item_life", LIFE(items[i].born, items[i].died));
	PUT_ITEMS("item_done", LIFE(items[i].died, state->done[i]));
	gsr_pack_begin(making->pack);
	for (size_t i = 0; i < replay->item_count; i++) {
		uint64_t address = gsr_item_address(&items[i], replay->origins[items[i].origin].sort);

		gsr_pack_put_signed(making->pack, (int64_t)(address - before));
		before = address;
	}
	gsr_pack_end(making->pack, "item_address");
#undef PUT_ITEMS
}

static void extents_put(struct making *making, const struct gsr_state *state)
{
#define PUT_EXTENTS(name, value)                                                                                       \
	gsr_pack_begin(making->pack);                                                                                  \
	for (size_t i = 0; i < state->extent_count; i++)                                                               \
		gsr_pack_put(making->pack, value);                                                                     \
	gsr_pack_end(making->pack, name)

	const struct gsr_extent *extents = state->extents;

	PUT_EXTENTS("extent_address", extents[i].address);
	PUT_EXTENTS("extent_size", extents[i].end - extents[i].address);
	PUT_EXTENTS("extent_born", extents[i].born);
	PUT_EXTENTS("extent_life", LIFE(extents[i].born, extents[i].died));
	PUT_EXTENTS("extent_device", extents[i].device);
#undef PUT_EXTENTS
#undef LIFE
}

/* Threads add events without waiting for each other: on the page no event is before the one before it. */
static void times_put(struct making *making)
{
	int64_t *times = gsr_event_times(making->model), latest_ns = 0;

	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < GSR_ROWS(making->model, events); row++) {
		gsr_pack_put(making->pack, times[row] > latest_ns ? (uint64_t)(times[row] - latest_ns) : 0);
		latest_ns = times[row] > latest_ns ? times[row] : latest_ns;
	}
	gsr_pack_end(making->pack, "event_time");
	free(times);
}

/* Events that are no allocations and yet tell something. */
static void marks_put(struct making *making)
{
	static const char *const kinds[] = {"oom", "capture_begin", "capture_end"};
	const struct gsr_model *model = making->model;
	cJSON *list = cJSON_AddArrayToObject(making->pack->header, "marks");
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t type = gsr_name_find(types, kinds[i]);

		for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
			cJSON *mark;

			if (GSR_CELL(model, events, type, row) != type)
				continue;
			mark = cJSON_CreateObject();
			cJSON_AddStringToObject(mark, "kind", kinds[i]);
			cJSON_AddNumberToObject(mark, "event", (double)row + 1);
			cJSON_AddNumberToObject(mark, "size_bytes", (double)GSR_CELL(model, events, size_bytes, row));
			cJSON_AddNumberToObject(mark, "stack", (double)GSR_CELL(model, events, stack, row));
			cJSON_AddItemToArray(list, mark);
		}
	}
}

static void memory_put(struct making *making)
{
	struct gsr_replay replay;
	struct gsr_state state;

	gsr_replay_read(making->model, SORTS_ALL, GSR_PART_NONE, &replay);
	gsr_state_read(making->model, &replay, &state);
	origins_put(making, &replay);
	items_put(making, &replay, &state);
	extents_put(making, &state);
	gsr_state_drop(&state);
	gsr_replay_drop(&replay);
	times_put(making);
	marks_put(making);
}

/* --- waits and launches ------------------------------------------------------------------------------------------ */

/* Why there are none; null where they were recorded. */
static void missing_put(struct making *making, const char *key, const char *why)
{
	cJSON_AddItemToObject(making->pack->header, key, why != NULL ? cJSON_CreateString(why) : cJSON_CreateNull());
}

static void waits_put(struct making *making)
{
	struct gsr_findings findings;
	cJSON *list = cJSON_AddArrayToObject(making->pack->header, "waits");

	gsr_findings_read(making->model, making->places, &findings);
	cJSON_AddNumberToObject(making->pack->header, "waits_ns", (double)findings.host_ns);
	cJSON_AddNumberToObject(making->pack->header, "idle_ns", (double)findings.idle_ns);
	missing_put(making, "waits_missing", gsr_waits_missing(making->model));
	missing_put(making, "launches_missing", gsr_launches_missing(making->model));
	for (size_t i = 0; i < findings.count; i++) {
		const struct gsr_finding *finding = &findings.findings[i];
		const struct gsr_finding_text *text = &gsr_finding_texts[finding->kind];
		cJSON *wait = cJSON_CreateObject();

		gsr_finding_json(finding, wait);
		cJSON_AddStringToObject(wait, "title", text->title);
		cJSON_AddStringToObject(wait, "advice", gsr_finding_advice(making->model, finding));
		cJSON_AddBoolToObject(wait, "normal", !text->problem);
		cJSON_AddNumberToObject(wait, "stack", (double)finding->stack);
		cJSON_AddItemToArray(list, wait);
	}
	gsr_findings_drop(&findings);
}

static void kernels_put(struct making *making)
{
	const struct gsr_model *model = making->model;
	const struct gsr_table *kernels = GSR_TABLE(model, kernels);
	char text[GSR_CELL_BYTES];

	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < kernels->rows; row++)
		gsr_pack_put(making->pack,
			     text_put(making, gsr_kernel_text(model, GSR_CELL(model, kernels, name, row), text)));
	gsr_pack_end(making->pack, "kernel_name");
	gsr_pack_begin(making->pack);
	for (size_t row = 0; row < kernels->rows; row++)
		gsr_pack_put(making->pack, text_put(making, GSR_NAME(model, kernels, kind, row)));
	gsr_pack_end(making->pack, "kernel_kind");
	column_put(making, "kernel_stack", kernels, GS_SNAP_kernels_stack);
	column_put(making, "kernel_calls", kernels, GS_SNAP_kernels_calls);
	column_put(making, "kernel_host_ns", kernels, GS_SNAP_kernels_host_ns);
	column_put(making, "kernel_long_calls", kernels, GS_SNAP_kernels_long_calls);
	column_put(making, "kernel_long_ns", kernels, GS_SNAP_kernels_long_ns);
}

/* Steps of the main loop: what each took, and where the host spent it. */
static void steps_put(struct making *making)
{
	static const struct {
		const char *name;
		unsigned column;
	} columns[] = {
	    {"step_number", GS_SNAP_steps_number},	 {"step_time", GS_SNAP_steps_time_ns},
	    {"step_wall", GS_SNAP_steps_wall_ns},	 {"step_launches", GS_SNAP_steps_launches},
	    {"step_launch_ns", GS_SNAP_steps_launch_ns}, {"step_queue_ns", GS_SNAP_steps_queue_ns},
	    {"step_wait_ns", GS_SNAP_steps_wait_ns},	 {"step_memory_ns", GS_SNAP_steps_memory_ns},
	    {"step_load_ns", GS_SNAP_steps_load_ns},	 {"step_device_ns", GS_SNAP_steps_device_ns},
	};
	const struct gsr_model *model = making->model;
	size_t loop;
	bool found = gsr_steps_main(model, &loop);

	cJSON_AddItemToObject(making->pack->header, "loops", gsr_steps_json(model, making->places));
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const uint64_t *cells = GSR_TABLE(model, steps)->column[columns[i].column];

		gsr_pack_begin(making->pack);
		for (size_t row = 0; found && row < GSR_ROWS(model, steps); row++)
			if (GSR_CELL(model, steps, loop, row) == loop)
				gsr_pack_put_signed(making->pack, (int64_t)cells[row]);
		gsr_pack_end(making->pack, columns[i].name);
	}
}

/* --- the header -------------------------------------------------------------------------------------------------- */

static void header_put(struct making *making, const char *path)
{
	const struct gsr_model *model = making->model;
	cJSON *header = making->pack->header, *sorts = cJSON_AddArrayToObject(header, "sorts");

	cJSON_AddStringToObject(header, "file", path);
	cJSON_AddStringToObject(header, "version", GPUSHIM_VERSION);
	cJSON_AddBoolToObject(header, "history_kept", gsr_history_kept(model));
	cJSON_AddBoolToObject(header, "history_complete", gsr_history_complete(model));
	cJSON_AddNumberToObject(header, "sorts_default", gsr_sorts_default(model));
	for (unsigned i = 0; i < GSR_SORT_COUNT; i++)
		cJSON_AddItemToArray(sorts, cJSON_CreateString(gsr_sort_names[i]));
	cJSON_AddItemReferenceToObject(header, "meta", model->meta);
	cJSON_AddItemReferenceToObject(header, "recording", model->recording);
	cJSON_AddItemReferenceToObject(header, "devices", model->devices);
	cJSON_AddItemReferenceToObject(header, "live_totals", model->live_totals);
	cJSON_AddItemReferenceToObject(header, "threads", model->threads);
	if (model->errors != NULL)
		cJSON_AddItemReferenceToObject(header, "errors", model->errors);
}

void gsr_html_data(const char *path, const struct gsr_model *model, struct gsr_categories *categories,
		   struct gsr_places *places, struct gsr_pack *pack)
{
	struct making making = {.model = model, .places = places, .categories = categories, .pack = pack};

	header_put(&making, path);
	making.texts = cJSON_AddArrayToObject(pack->header, "texts");
	stacks_put(&making);
	memory_put(&making);
	waits_put(&making);
	kernels_put(&making);
	steps_put(&making);
	gsr_map_drop(&making.text_of);
}
