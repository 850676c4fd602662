/* See build.h. */
#include "report/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_text.h"

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

size_t gsr_build_row(struct gsr_build *build, enum gs_snap_table id)
{
	struct gsr_table *table = &build->model.tables[id];

	if (table->rows == build->capacity[id]) {
		build->capacity[id] = build->capacity[id] == 0 ? 64 : build->capacity[id] * 2;
		for (unsigned column = 0; column < gsr_table_schemas[id].column_count; column++)
			table->column[column] = or_end(realloc(table->column[column], build->capacity[id] * sizeof(uint64_t)));
	}
	for (unsigned column = 0; column < gsr_table_schemas[id].column_count; column++)
		table->column[column][table->rows] = 0;
	return table->rows++;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t mixed(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t clean_string(struct gsr_build *build, const char *text, size_t length)
{
	uint64_t hash, string;

	for (hash = hash_of(text, length); gsr_map_find(&build->string_of, hash, &string); hash = mixed(hash, 1))
		if (strlen(build->bytes + build->offsets[string]) == length &&
		    memcmp(build->bytes + build->offsets[string], text, length) == 0)
			return string;
	if (build->bytes_capacity - build->bytes_used < length + 1) {
		build->bytes_capacity = (build->bytes_capacity + length + 1) * 2;
		build->bytes = or_end(realloc(build->bytes, build->bytes_capacity));
	}
	if (build->string_count == build->string_capacity) {
		build->string_capacity = build->string_capacity == 0 ? 64 : build->string_capacity * 2;
		build->offsets = or_end(realloc(build->offsets, build->string_capacity * sizeof(*build->offsets)));
	}
	memcpy(build->bytes + build->bytes_used, text, length);
	build->bytes[build->bytes_used + length] = '\0';
	build->offsets[build->string_count] = build->bytes_used;
	build->bytes_used += length + 1;
	gsr_map_put(&build->string_of, hash, build->string_count);
	return build->string_count++;
}

/* A zero byte ends a text. */
uint64_t gsr_build_string(struct gsr_build *build, const char *text, size_t length)
{
	char *clean;
	uint64_t string;

	length = strnlen(text, length);
	if (length == 0)
		return 0;
	clean = gsr_text_clean(text, length, &length);
	string = clean_string(build, clean, length);
	free(clean);
	return string;
}

uint64_t gsr_build_name(const struct gsr_build *build, enum gs_snap_table id, unsigned column, const char *name)
{
	return gsr_name_find(&build->model.tables[id].names[column], name);
}

/* The texts live as long as the program. */
static void names_set(struct gsr_build *build, enum gs_snap_table id, unsigned column, const char *const *names)
{
	struct gsr_texts *texts = &build->model.tables[id].names[column];

	while (names[texts->count] != NULL)
		texts->count++;
	texts->text = or_end(calloc(texts->count + 1, sizeof(*texts->text)));
	memcpy(texts->text, names, texts->count * sizeof(*names));
}

/* --- stacks ------------------------------------------------------------------------------------------------------ */

static uint64_t frame_get(struct gsr_build *build, const char *kind, uint64_t file, uint64_t module, uint64_t function, uint64_t line)
{
	uint64_t key = mixed(mixed(mixed(mixed(kind[0] + 1u, file), module), function), line), frame;
	struct gsr_model *model = &build->model;

	if (gsr_map_find(&build->frame_of, key, &frame))
		return frame;
	frame = gsr_build_row(build, GS_SNAP_TABLE_frames);
	GSR_CELL(model, frames, kind, frame) = gsr_build_name(build, GS_SNAP_TABLE_frames, GS_SNAP_frames_kind, kind);
	GSR_CELL(model, frames, file, frame) = file;
	GSR_CELL(model, frames, module, frame) = module;
	GSR_CELL(model, frames, function, frame) = function;
	GSR_CELL(model, frames, line, frame) = line;
	gsr_map_put(&build->frame_of, key, frame);
	return frame;
}

uint64_t gsr_build_python(struct gsr_build *build, uint64_t file, uint64_t function, uint64_t line)
{
	return frame_get(build, "python", file, 0, function, line);
}

uint64_t gsr_build_native(struct gsr_build *build, uint64_t module_path, uint64_t function, uint64_t line)
{
	struct gsr_model *model = &build->model;
	size_t module = 1;

	while (module < GSR_ROWS(model, modules) && GSR_CELL(model, modules, path, module) != module_path)
		module++;
	if (module == GSR_ROWS(model, modules)) {
		gsr_build_row(build, GS_SNAP_TABLE_modules);
		GSR_CELL(model, modules, path, module) = module_path;
	}
	return frame_get(build, "native", 0, module, function, line);
}

uint64_t gsr_build_stack(struct gsr_build *build, uint64_t parent, uint64_t frame)
{
	uint64_t key = parent << 32 | frame, stack;

	if (gsr_map_find(&build->stack_of, key, &stack))
		return stack;
	stack = gsr_build_row(build, GS_SNAP_TABLE_stacks);
	GSR_CELL(&build->model, stacks, parent, stack) = parent;
	GSR_CELL(&build->model, stacks, frame, stack) = frame;
	gsr_map_put(&build->stack_of, key, stack);
	return stack;
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

void gsr_build_device(struct gsr_build *build, uint64_t ordinal)
{
	cJSON *device = cJSON_CreateObject();
	char uuid[64];

	cJSON_AddNumberToObject(device, GS_KEY(devices, ordinal), (double)ordinal);
	snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-0000-0000-%012llx", (unsigned long long)ordinal & 0xffffffff);
	cJSON_AddStringToObject(device, GS_KEY(devices, uuid), uuid);
	cJSON_AddStringToObject(device, GS_KEY(devices, name), "unknown");
	cJSON_AddNumberToObject(device, GS_KEY(devices, total_bytes), 0);
	cJSON_AddNullToObject(device, GS_KEY(devices, gauges));
	cJSON_AddNullToObject(device, GS_KEY(devices, counters));
	cJSON_AddItemToArray(build->model.devices, device);
}

void gsr_build_live_total(struct gsr_build *build, const char *live_class, uint64_t device, uint64_t bytes, uint64_t peak_bytes,
			  uint64_t count, uint64_t peak_count, uint64_t total_count)
{
	cJSON *total = cJSON_CreateObject();

	cJSON_AddStringToObject(total, GS_KEY(live_totals, class), live_class);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, device), (double)device);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, bytes), (double)bytes);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, peak_bytes), (double)peak_bytes);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, count), (double)count);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, peak_count), (double)peak_count);
	cJSON_AddNumberToObject(total, GS_KEY(live_totals, total_count), (double)total_count);
	cJSON_AddItemToArray(build->model.live_totals, total);
}

static void decimal_add(cJSON *object, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	cJSON_AddStringToObject(object, key, text);
}

static void meta_begin(struct gsr_build *build, const char *what)
{
	cJSON *meta = cJSON_CreateObject();

	cJSON_AddStringToObject(meta, GS_KEY(meta, reason), "request");
	cJSON_AddStringToObject(meta, GS_KEY(meta, version), GPUSHIM_VERSION);
	cJSON_AddNumberToObject(meta, GS_KEY(meta, pid), 0);
	cJSON_AddNumberToObject(meta, GS_KEY(meta, ppid), 0);
	cJSON_AddNullToObject(meta, GS_KEY(meta, rank));
	cJSON_AddStringToObject(meta, GS_KEY(meta, hostname), "unknown");
	cJSON_AddStringToObject(meta, GS_KEY(meta, executable), "");
	cJSON_AddItemToArray(cJSON_AddArrayToObject(meta, GS_KEY(meta, command)), cJSON_CreateString(what));
	cJSON_AddStringToObject(meta, GS_KEY(meta, folder), "");
	cJSON_AddStringToObject(meta, GS_KEY(meta, conf), "");
	cJSON_AddObjectToObject(meta, GS_KEY(meta, settings));
	build->model.meta = meta;
}

void gsr_build_begin(struct gsr_build *build, const char *what)
{
	static const char *const kinds[] = {"none", "python", "native", NULL};
	static const char *const segment_kinds[] = {"plain", "expandable", NULL};
	static const char *const states[] = {"live", "pending", "idle", NULL};
	static const char *const origins[] = {"legacy", "async", NULL};
	static const char *const classes[] = {"tensor", "host", "driver", NULL};
	static const char *const types[] = {"alloc",	   "free",	  "tensor_alloc", "tensor_free",
					    "segment_map", "segment_unmap", "oom",	  NULL};

	memset(build, 0, sizeof(*build));
	meta_begin(build, what);
	build->model.recording = cJSON_CreateObject();
	build->model.devices = cJSON_CreateArray();
	build->model.live_totals = cJSON_CreateArray();
	build->model.functions = cJSON_CreateArray();
	build->model.threads = cJSON_CreateArray();
	build->model.errors = cJSON_CreateArray();
	build->model.submit = cJSON_CreateArray();
	build->model.graph = cJSON_CreateArray();
	names_set(build, GS_SNAP_TABLE_frames, GS_SNAP_frames_kind, kinds);
	names_set(build, GS_SNAP_TABLE_segments, GS_SNAP_segments_kind, segment_kinds);
	names_set(build, GS_SNAP_TABLE_blocks, GS_SNAP_blocks_state, states);
	names_set(build, GS_SNAP_TABLE_blocks, GS_SNAP_blocks_origin, origins);
	names_set(build, GS_SNAP_TABLE_live, GS_SNAP_live_class, classes);
	names_set(build, GS_SNAP_TABLE_events, GS_SNAP_events_type, types);
	build->bytes = or_end(calloc(1, build->bytes_capacity = 4096));
	build->bytes_used = 1;
	build->offsets = or_end(calloc(build->string_capacity = 64, sizeof(*build->offsets)));
	build->string_count = 1;
	gsr_build_row(build, GS_SNAP_TABLE_stacks);
	gsr_build_row(build, GS_SNAP_TABLE_frames);
	gsr_build_row(build, GS_SNAP_TABLE_modules);
}

void gsr_build_end(struct gsr_build *build, uint64_t start_wall_ns, uint64_t end_ns, uint64_t events_dropped,
		   struct gsr_model *ret_model)
{
	cJSON *meta = build->model.meta, *recording = build->model.recording;
	struct gsr_texts *strings = &build->model.strings;

	decimal_add(meta, GS_KEY(meta, start_wall_ns), start_wall_ns);
	decimal_add(meta, GS_KEY(meta, dump_wall_ns), start_wall_ns + end_ns);
	decimal_add(meta, GS_KEY(meta, monotonic_base_ns), 0);
	cJSON_AddNumberToObject(meta, GS_KEY(meta, elapsed_ns), (double)end_ns);
	cJSON_AddStringToObject(recording, GS_KEY(recording, python), "imported");
	cJSON_AddStringToObject(recording, GS_KEY(recording, native), "imported");
	cJSON_AddNumberToObject(recording, GS_KEY(recording, stack_captures), 0);
	cJSON_AddNumberToObject(recording, GS_KEY(recording, native_walks), 0);
	cJSON_AddNumberToObject(recording, GS_KEY(recording, stacks_cut), 0);
	cJSON_AddNumberToObject(recording, GS_KEY(recording, live_dropped), 0);
	cJSON_AddNumberToObject(recording, GS_KEY(recording, events_added),
				(double)(GSR_ROWS(&build->model, events) + events_dropped));
	cJSON_AddNumberToObject(recording, GS_KEY(recording, events_dropped), (double)events_dropped);
	strings->text = or_end(calloc(build->string_count + 1, sizeof(*strings->text)));
	for (size_t i = 0; i < build->string_count; i++)
		strings->text[i] = build->bytes + build->offsets[i];
	strings->count = build->string_count;
	strings->bytes = build->bytes;
	build->bytes = NULL;
	*ret_model = build->model;
	memset(&build->model, 0, sizeof(build->model));
	gsr_build_drop(build);
}

void gsr_build_drop(struct gsr_build *build)
{
	gsr_model_drop(&build->model);
	free(build->bytes);
	free(build->offsets);
	gsr_map_drop(&build->string_of);
	gsr_map_drop(&build->frame_of);
	gsr_map_drop(&build->stack_of);
}
