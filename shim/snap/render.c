/* See render.h. The sections appear in the order of report/schema.h: what is referred to comes after what refers to
 * it, and its length is taken when it is written. */
#include "shim/snap/render.h"

#include <string.h>

#include "report/schema.h"
#include "shim/snap/path_out.h"
#include "shim/snap/settings_out.h"
#include "shim/snap/step_out.h"
#include "shim/snap/submit_out.h"
#include "shim/snap/table_out.h"
#include "shim/snap/watch_out.h"

struct render {
	struct gs_json *json;
	const struct gs_snapshot_process *process;
	const struct gs_gathered *gathered;
	const struct gs_snapshot_source *source;
	struct gs_paths paths;
};

#define TIME_UNKNOWN ((uint64_t)-1)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define NAMES(array) ((struct gs_names){array, COUNT_OF(array)})

#define COLUMNS(table)                                                                                                 \
	static const struct gs_snap_column table##_columns[] = {GS_SNAP_COLUMNS_##table(GS_SNAP_COLUMN_ROW)};
/* Of the tables that are written here. */
COLUMNS(segments)
COLUMNS(blocks)
COLUMNS(live)
COLUMNS(events)
COLUMNS(launches)
COLUMNS(stacks)
COLUMNS(frames)
COLUMNS(modules)

#define TABLE(table, rows, cell_function, names_function)                                                              \
	gs_table_out(render->json, &(struct gs_table_out){.key = #table,                                               \
							  .columns = table##_columns,                                  \
							  .column_count = GS_SNAP_##table##_COLUMNS,                   \
							  .row_count = (rows),                                         \
							  .cell = (cell_function),                                     \
							  .names = (names_function),                                   \
							  .user = render})

static uint64_t since_start(const struct render *render, uint64_t time_ns)
{
	return time_ns - render->process->start_monotonic_ns;
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

static void meta_out(const struct render *render, const char *reason)
{
	const struct gs_snapshot_process *process = render->process;
	struct gs_json *json = render->json;

	gs_json_object_begin(json, "meta");
	gs_json_text(json, GS_KEY(meta, reason), reason);
	gs_json_text(json, GS_KEY(meta, version), GPUSHIM_VERSION);
	gs_json_count(json, GS_KEY(meta, pid), process->pid);
	gs_json_count(json, GS_KEY(meta, ppid), process->ppid);
	if (process->rank >= 0)
		gs_json_count(json, GS_KEY(meta, rank), (uint64_t)process->rank);
	else
		gs_json_null(json, GS_KEY(meta, rank));
	gs_json_text(json, GS_KEY(meta, hostname), process->hostname);
	gs_path_text(json, GS_KEY(meta, executable), process->executable, &render->paths);
	gs_json_array_begin(json, GS_KEY(meta, command));
	for (size_t at = 0; at < process->command_bytes; at += strlen(process->command + at) + 1)
		gs_path_text(json, NULL, process->command + at, &render->paths);
	gs_json_array_end(json);
	gs_path_text(json, GS_KEY(meta, folder), process->folder, &render->paths);
	gs_json_decimal(json, GS_KEY(meta, start_wall_ns), process->start_wall_ns);
	gs_json_decimal(json, GS_KEY(meta, dump_wall_ns), process->dump_wall_ns);
	gs_json_decimal(json, GS_KEY(meta, monotonic_base_ns), process->start_monotonic_ns);
	gs_json_count(json, GS_KEY(meta, elapsed_ns), process->dump_monotonic_ns - process->start_monotonic_ns);
	gs_json_text(json, GS_KEY(meta, conf), render->paths.mode == GS_PATHS_FULL ? process->conf_text : "");
	gs_settings_out(json, GS_KEY(meta, settings), render->source->conf, &render->paths);
	gs_json_object_end(json);
}

static void recording_out(const struct render *render)
{
	struct gs_stack_counters stacks;
	struct gs_json *json = render->json;
	const struct gs_gathered *gathered = render->gathered;

	render->source->stack_counters(&stacks);
	gs_json_object_begin(json, "recording");
	gs_json_text(json, GS_KEY(recording, python), stacks.python);
	gs_json_text(json, GS_KEY(recording, native), stacks.native);
	gs_json_count(json, GS_KEY(recording, stack_captures), stacks.captures);
	gs_json_count(json, GS_KEY(recording, native_walks), stacks.native_walks);
	gs_json_count(json, GS_KEY(recording, stacks_cut), stacks.cut);
	gs_json_count(json, GS_KEY(recording, live_dropped), render->source->live_dropped());
	gs_json_count(json, GS_KEY(recording, events_added), gathered->events_added);
	gs_json_count(json, GS_KEY(recording, events_dropped), gathered->events_added - gathered->events.count);
	gs_json_object_end(json);
}

static void uuid_out(struct gs_json *json, const unsigned char uuid[16])
{
	char text[4 + 36 + 1] = "GPU-";
	unsigned length = 4;

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[length++] = '-';
		text[length++] = "0123456789abcdef"[uuid[i] >> 4];
		text[length++] = "0123456789abcdef"[uuid[i] & 15];
	}
	text[length] = '\0';
	gs_json_text(json, GS_KEY(devices, uuid), text);
}

static void allocator_out(const struct render *render, struct gsa *allocator)
{
	struct gsa_stats stats;
	struct gs_json *json = render->json;

	if (allocator == NULL) {
		gs_json_null(json, GS_KEY(devices, gauges));
		gs_json_null(json, GS_KEY(devices, counters));
		return;
	}
	render->source->allocator_stats(allocator, &stats);
	gs_json_object_begin(json, GS_KEY(devices, gauges));
#define GAUGE_OUT(name, text)                                                                                          \
	gs_json_object_begin(json, #name);                                                                             \
	gs_json_count(json, "now", stats.name.now);                                                                    \
	gs_json_count(json, "peak", stats.name.peak);                                                                  \
	gs_json_object_end(json);
	GSA_GAUGES(GAUGE_OUT)
#undef GAUGE_OUT
	gs_json_object_end(json);
	gs_json_object_begin(json, GS_KEY(devices, counters));
#define COUNTER_OUT(name, text) gs_json_count(json, #name, stats.name);
	GSA_COUNTERS(COUNTER_OUT)
#undef COUNTER_OUT
	gs_json_object_end(json);
}

static void devices_out(const struct render *render)
{
	struct gs_json *json = render->json;

	gs_json_array_begin(json, "devices");
	for (int index = 0; index < render->source->device_count(); index++) {
		struct gs_device_info device;

		if (render->source->device_read(index, &device) != 0)
			continue;
		gs_json_object_begin(json, NULL);
		gs_json_count(json, GS_KEY(devices, ordinal), (uint64_t)device.ordinal);
		uuid_out(json, device.uuid);
		gs_json_text(json, GS_KEY(devices, name), device.name);
		gs_json_count(json, GS_KEY(devices, total_bytes), device.total_bytes);
		gs_json_count(json, GS_KEY(devices, others_bytes), device.others_bytes);
		gs_json_count(json, GS_KEY(devices, others_time_ns),
			      device.others_time_ns != 0 ? since_start(render, device.others_time_ns) : 0);
		allocator_out(render, device.allocator);
		gs_json_object_end(json);
	}
	gs_json_array_end(json);
}

static const char *const live_class_names[] = {
#define CLASS_NAME(name, key, text) key,
    GS_LIVE_CLASSES(CLASS_NAME)
#undef CLASS_NAME
};

static void live_total_out(const struct render *render, enum gs_live_class live_class, unsigned device)
{
	struct gs_live_total total = render->source->live_total(live_class, (uint8_t)device);
	struct gs_json *json = render->json;

	if (total.total_count == 0)
		return;
	gs_json_object_begin(json, NULL);
	gs_json_text(json, GS_KEY(live_totals, class), live_class_names[live_class]);
	gs_json_count(json, GS_KEY(live_totals, device), device);
	gs_json_count(json, GS_KEY(live_totals, bytes), total.bytes);
	gs_json_count(json, GS_KEY(live_totals, peak_bytes), total.peak_bytes);
	gs_json_count(json, GS_KEY(live_totals, count), total.count);
	gs_json_count(json, GS_KEY(live_totals, peak_count), total.peak_count);
	gs_json_count(json, GS_KEY(live_totals, total_count), total.total_count);
	gs_json_object_end(json);
}

static void live_totals_out(const struct render *render)
{
	gs_json_array_begin(render->json, "live_totals");
	for (unsigned live_class = 0; live_class < GS_LIVE_CLASS_COUNT; live_class++)
		for (unsigned device = 0; device < 256; device++)
			live_total_out(render, (enum gs_live_class)live_class, device);
	gs_json_array_end(render->json);
}

static void functions_out(const struct render *render)
{
	struct gs_json *json = render->json;
	size_t count = render->source->counter_count();

	gs_json_array_begin(json, "functions");
	for (size_t index = 0; index < count; index++) {
		struct gs_counter counter;

		render->source->counter_read(index, &counter);
		if (counter.calls == 0)
			continue;
		gs_json_object_begin(json, NULL);
		gs_json_text(json, GS_KEY(functions, name), counter.name);
		gs_json_text(json, GS_KEY(functions, layer), counter.layer);
		gs_json_text(json, GS_KEY(functions, class), counter.call_class);
		gs_json_count(json, GS_KEY(functions, calls), counter.calls);
		gs_json_count(json, GS_KEY(functions, host_ns), counter.host_ns);
		gs_json_object_end(json);
	}
	gs_json_array_end(json);
}

static void threads_out(const struct render *render)
{
	const struct gs_snapshot_thread *threads = render->gathered->threads.rows;
	struct gs_json *json = render->json;

	gs_json_array_begin(json, "threads");
	for (size_t i = 0; i < render->gathered->threads.count; i++) {
		gs_json_object_begin(json, NULL);
		gs_json_count(json, GS_KEY(threads, tid), threads[i].tid);
		gs_json_text(json, GS_KEY(threads, name), threads[i].name);
		gs_json_object_end(json);
	}
	gs_json_array_end(json);
}

static void errors_out(const struct render *render)
{
	struct gs_json *json = render->json;
	struct gs_sticky_error error;

	gs_json_array_begin(json, "errors");
	if (render->source->error_read(&error)) {
		gs_json_object_begin(json, NULL);
		gs_json_count(json, GS_KEY(errors, code), (uint64_t)error.result);
		gs_json_text(json, GS_KEY(errors, name), error.name);
		gs_json_text(json, GS_KEY(errors, function), error.function);
		gs_json_count(json, GS_KEY(errors, stack), error.stack);
		gs_json_count(json, GS_KEY(errors, thread), error.thread);
		gs_json_count(json, GS_KEY(errors, time_ns), since_start(render, error.time_ns));
		gs_json_count(json, GS_KEY(errors, launches_lost), error.lost);
		gs_json_object_end(json);
	}
	gs_json_array_end(json);
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

static uint64_t segments_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	const struct gs_segment_row *segment = (const struct gs_segment_row *)render->gathered->segments.rows + row;

	switch ((enum gs_snap_segments)column) {
	case GS_SNAP_segments_device:
		return (uint64_t)segment->device;
	case GS_SNAP_segments_kind:
		return segment->kind;
	case GS_SNAP_segments_address:
		return segment->address;
	case GS_SNAP_segments_size_bytes:
		return segment->size_bytes;
	case GS_SNAP_segments_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names segments_names(unsigned column)
{
	static const char *const kinds[] = {"expandable", "fixed", "plain"}; /* enum gsa_segment_kind */

	(void)column;
	return NAMES(kinds);
}

static uint64_t blocks_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	const struct gs_block_row *block = (const struct gs_block_row *)render->gathered->blocks.rows + row;

	switch ((enum gs_snap_blocks)column) {
	case GS_SNAP_blocks_segment:
		return block->segment;
	case GS_SNAP_blocks_address:
		return block->info.address;
	case GS_SNAP_blocks_size_bytes:
		return block->info.size_bytes;
	case GS_SNAP_blocks_reserved_bytes:
		return block->info.reserved_bytes;
	case GS_SNAP_blocks_state:
		return block->state;
	case GS_SNAP_blocks_origin:
		return block->info.origin;
	case GS_SNAP_blocks_stream:
		return block->info.stream_id;
	case GS_SNAP_blocks_pool:
		return block->info.pool;
	case GS_SNAP_blocks_owner:
		return block->info.owner;
	case GS_SNAP_blocks_stack:
		return block->info.stack;
	case GS_SNAP_blocks_thread:
		return block->info.thread;
	case GS_SNAP_blocks_time_ns:
		if (block->info.time_ns == GSA_TIME_NONE)
			return TIME_UNKNOWN;
		return block->info.serial == 0 ? 0 : since_start(render, block->info.time_ns);
	case GS_SNAP_blocks_serial:
		return block->info.serial;
	case GS_SNAP_blocks_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names blocks_names(unsigned column)
{
	static const char *const states[] = {"live", "pending", "idle"}; /* enum gsa_block_state */
	static const char *const origins[] = {"legacy", "async"};	 /* enum gsa_origin */

	_Static_assert(COUNT_OF(origins) == GSA_ORIGIN_COUNT, "a name for each origin");
	return column == GS_SNAP_blocks_state ? NAMES(states) : NAMES(origins);
}

static uint64_t live_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	const struct gs_live *entry = (const struct gs_live *)render->gathered->live.rows + row;

	switch ((enum gs_snap_live)column) {
	case GS_SNAP_live_class:
		return entry->live_class;
	case GS_SNAP_live_device:
		return entry->device;
	case GS_SNAP_live_address:
		return entry->address;
	case GS_SNAP_live_size_bytes:
		return entry->size_bytes;
	case GS_SNAP_live_stack:
		return entry->stack;
	case GS_SNAP_live_thread:
		return entry->thread;
	case GS_SNAP_live_time_ns:
		return since_start(render, entry->time_ns);
	case GS_SNAP_live_owner:
		return entry->owner;
	case GS_SNAP_live_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names live_names(unsigned column)
{
	(void)column;
	return NAMES(live_class_names);
}

static uint64_t events_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	const struct gs_event *event = (const struct gs_event *)render->gathered->events.rows + row;

	switch ((enum gs_snap_events)column) {
	case GS_SNAP_events_type:
		return event->type;
	case GS_SNAP_events_time_delta_ns:
		return row == 0 ? since_start(render, event->time_ns) : event->time_ns - event[-1].time_ns;
	case GS_SNAP_events_device:
		return event->device;
	case GS_SNAP_events_address:
		return event->address;
	case GS_SNAP_events_size_bytes:
		return event->size_bytes;
	case GS_SNAP_events_stream:
		return event->stream;
	case GS_SNAP_events_stack:
		return event->stack;
	case GS_SNAP_events_thread:
		return event->thread;
	case GS_SNAP_events_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names events_names(unsigned column)
{
	static const char *const types[] = {
#define TYPE_NAME(name, key, text) key,
	    GS_EVENT_TYPES(TYPE_NAME)
#undef TYPE_NAME
	};

	(void)column;
	return NAMES(types);
}

static uint64_t launches_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	const struct gs_launch *launch = (const struct gs_launch *)render->gathered->launches.rows + row;

	switch ((enum gs_snap_launches)column) {
	case GS_SNAP_launches_kind:
		return launch->kind;
	case GS_SNAP_launches_state:
		return launch->state;
	case GS_SNAP_launches_name:
		return launch->name;
	case GS_SNAP_launches_stream:
		return launch->stream;
	case GS_SNAP_launches_stack:
		return launch->stack;
	case GS_SNAP_launches_thread:
		return launch->thread;
	case GS_SNAP_launches_time_ns:
		return since_start(render, launch->time_ns);
	case GS_SNAP_launches_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names launches_names(unsigned column)
{
	static const char *const kinds[] = {
#define KIND_NAME(name, key, text) key,
	    GS_WORK_KINDS(KIND_NAME)
#undef KIND_NAME
	};
	static const char *const states[] = {
#define STATE_NAME(name, key, text) key,
	    GS_WORK_STATES(STATE_NAME)
#undef STATE_NAME
	};

	return column == GS_SNAP_launches_kind ? NAMES(kinds) : NAMES(states);
}

static uint64_t stacks_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	uint32_t parent, frame;

	render->source->stack_read((uint32_t)row, &parent, &frame);
	return column == GS_SNAP_stacks_parent ? parent : frame;
}

static uint64_t frames_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	struct gs_frame frame;
	bool native;

	render->source->frame_read((uint32_t)row, &frame);
	native = frame.kind == GS_FRAME_NATIVE;
	switch ((enum gs_snap_frames)column) {
	case GS_SNAP_frames_kind:
		return frame.kind;
	case GS_SNAP_frames_function:
		return native ? 0 : frame.function;
	case GS_SNAP_frames_file:
		return native ? 0 : frame.file;
	case GS_SNAP_frames_line:
		return frame.line;
	case GS_SNAP_frames_module:
		return native ? frame.file : 0;
	case GS_SNAP_frames_offset:
		return frame.offset;
	case GS_SNAP_frames_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names frames_names(unsigned column)
{
	static const char *const kinds[] = {"none", "python", "native"}; /* enum gs_frame_kind */

	(void)column;
	return NAMES(kinds);
}

static uint64_t modules_cell(const void *user, size_t row, unsigned column)
{
	const struct render *render = user;
	struct gs_module module;

	render->source->module_read((uint32_t)row, &module);
	switch ((enum gs_snap_modules)column) {
	case GS_SNAP_modules_path:
		return module.path;
	case GS_SNAP_modules_build_id:
		return module.build_id;
	case GS_SNAP_modules_base:
		return module.base;
	case GS_SNAP_modules_start:
		return module.start;
	case GS_SNAP_modules_end:
		return module.end;
	case GS_SNAP_modules_COLUMNS:
		break;
	}
	return 0;
}

void gs_render(struct gs_json *json, const char *reason, const struct gs_snapshot_process *process,
	       const struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	const struct gs_paths paths = {(enum gs_conf_paths)source->conf->paths, process->folder};
	const struct render state = {json, process, gathered, source, paths}, *render = &state;
	size_t string_count;

	gs_json_object_begin(json, NULL);
	gs_json_count(json, "schema", GS_SNAP_VERSION);
	meta_out(render, reason);
	recording_out(render);
	devices_out(render);
	live_totals_out(render);
	functions_out(render);
	threads_out(render);
	errors_out(render);
	gs_submit_out(json, source);
	gs_graph_out(json, source);
	TABLE(segments, gathered->segments.count, segments_cell, segments_names);
	TABLE(blocks, gathered->blocks.count, blocks_cell, blocks_names);
	TABLE(live, gathered->live.count, live_cell, live_names);
	TABLE(events, gathered->events.count, events_cell, events_names);
	TABLE(launches, gathered->launches.count, launches_cell, launches_names);
	gs_waits_out(json, source);
	gs_kernels_out(json, source);
	gs_steps_out(json, &gathered->steps, process->start_monotonic_ns);
	gs_loops_out(json, source);
	gs_crossings_out(json, source);
	TABLE(stacks, source->stack_count(), stacks_cell, NULL);
	TABLE(frames, source->frame_count(), frames_cell, frames_names);
	TABLE(modules, source->module_count(), modules_cell, NULL);
	string_count = source->string_count();
	gs_json_array_begin(json, "strings");
	for (size_t i = 0; i < string_count; i++)
		gs_path_text(json, NULL, source->string_read((uint32_t)i), &render->paths);
	gs_json_array_end(json);
	gs_json_object_end(json);
}
