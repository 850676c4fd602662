/* PyTorch's snapshots. Its segments become blocks, as gpushim serves them under torch:observe, its blocks tensors. What was freed and
 * still waits for a stream is no tensor any more. Where the history does not hold the beginning of everything, it counts as cut. */
#include <stdlib.h>
#include <string.h>

#include "report/import.h"
#include "report/pickle.h"
#include "shim/base/err.h"

#define DEVICES_MAX 255
#define DAY_US (86400ull * 1000000)

struct entry {
	const struct gsr_value *value;
	uint64_t time_us;
	unsigned device;
	size_t order;
};

struct importing {
	struct gsr_build build;
	struct gsr_map stack_of; /* lists of frames: address -> stack */
	struct gsr_map size_of;	 /* tensors of the history that are alive, by address */
	struct gsr_map time_of;	 /* likewise, when they began */
	struct entry *entries;
	size_t count;
	uint64_t start_us, end_us;
	uint64_t lost; /* events that must have been before the history */
	struct gsr_tally tensors[DEVICES_MAX + 1];
};

static uint64_t counted(const struct gsr_value *value)
{
	uint64_t number = gsr_value_number(value);

	return number < GSR_COUNT_MAX ? number : 0;
}

/* --- stacks ------------------------------------------------------------------------------------------------------ */

static uint64_t string_of(struct importing *importing, const struct gsr_value *value)
{
	return value != NULL && value->type == GSR_VALUE_TEXT
		   ? gsr_build_string(&importing->build, value->text.start, value->text.length)
		   : 0;
}

static bool starts(const struct gsr_value *value, const char *with)
{
	return value != NULL && value->type == GSR_VALUE_TEXT && value->text.length >= strlen(with) &&
	       memcmp(value->text.start, with, strlen(with)) == 0;
}

static bool ends(const struct gsr_value *value, const char *with)
{
	return value != NULL && value->type == GSR_VALUE_TEXT && value->text.length >= strlen(with) &&
	       memcmp(value->text.start + value->text.length - strlen(with), with, strlen(with)) == 0;
}

/* C++ frames have no library here; those of PyTorch's are told by their names, so that they are not taken for the program's. */
static const char *module_of(const struct gsr_value *name)
{
	static const char *const torch[] = {"at::", "c10::", "torch::", "THP", "void at::", "std::"};
	static const char *const python[] = {"_Py", "Py", "cfunction_", "method_", "object_", "type_call", "slot_tp_"};

	for (size_t i = 0; i < sizeof(torch) / sizeof(torch[0]); i++)
		if (starts(name, torch[i]))
			return "libtorch";
	for (size_t i = 0; i < sizeof(python) / sizeof(python[0]); i++)
		if (starts(name, python[i]))
			return "libpython";
	return "native code";
}

static uint64_t frame_of(struct importing *importing, const struct gsr_value *value)
{
	const struct gsr_value *file = gsr_value_find(value, "filename"), *name = gsr_value_find(value, "name");
	uint64_t line = counted(gsr_value_find(value, "line"));
	const char *module;

	if (ends(file, ".py") || starts(file, "<"))
		return gsr_build_python(&importing->build, string_of(importing, file), string_of(importing, name), line);
	module = module_of(name);
	return gsr_build_native(&importing->build, gsr_build_string(&importing->build, module, strlen(module)),
				string_of(importing, name), line);
}

/* The same list is often shared by many entries. */
static uint64_t stack_of(struct importing *importing, const struct gsr_value *frames)
{
	uint64_t key = (uint64_t)(uintptr_t)frames, stack = 0;

	if (gsr_value_count(frames) == 0 || gsr_map_find(&importing->stack_of, key, &stack))
		return stack;
	for (size_t i = gsr_value_count(frames); i-- > 0;)
		stack = gsr_build_stack(&importing->build, stack, frame_of(importing, frames->list.items[i]));
	gsr_map_put(&importing->stack_of, key, stack);
	return stack;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static int by_time(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static uint64_t time_of(const struct gsr_value *entry)
{
	return counted(gsr_value_find(entry, "time_us"));
}

static uint64_t first_time(const struct gsr_value *traces, size_t devices)
{
	uint64_t first_us = GSR_COUNT_MAX;

	for (size_t device = 0; device < devices; device++)
		for (size_t i = 0; i < gsr_value_count(traces->list.items[device]); i++) {
			uint64_t time_us = time_of(traces->list.items[device]->list.items[i]);

			first_us = time_us > 0 && time_us < first_us ? time_us : first_us;
		}
	return first_us < GSR_COUNT_MAX ? first_us : 0;
}

/* Times of a device do not run backwards, so that its entries stay in their order. What is no time, or a hundred days after the
 * first one, is that of the entry before. */
static void entries_read(struct importing *importing, const struct gsr_value *traces)
{
	size_t devices = gsr_value_count(traces) < DEVICES_MAX ? gsr_value_count(traces) : DEVICES_MAX, count = 0;

	for (size_t device = 0; device < devices; device++)
		count += gsr_value_count(traces->list.items[device]);
	importing->start_us = first_time(traces, devices);
	importing->entries = calloc(count + 1, sizeof(*importing->entries));
	if (importing->entries == NULL)
		abort();
	for (size_t device = 0; device < devices; device++) {
		const struct gsr_value *trace = traces->list.items[device];
		uint64_t time_us = importing->start_us;

		gsr_build_device(&importing->build, device);
		for (size_t i = 0; i < gsr_value_count(trace); i++) {
			uint64_t own_us = time_of(trace->list.items[i]);

			time_us = own_us > time_us && own_us - importing->start_us < 100 * DAY_US ? own_us : time_us;
			importing->entries[importing->count] =
			    (struct entry){trace->list.items[i], time_us, (unsigned)device, importing->count};
			importing->count++;
		}
	}
	qsort(importing->entries, importing->count, sizeof(struct entry), by_time);
	importing->end_us = importing->count > 0 ? importing->entries[importing->count - 1].time_us : importing->start_us;
}

static const char *type_of(const struct gsr_value *action)
{
	static const char *const types[][2] = {
	    {"alloc", "tensor_alloc"},	  {"free_requested", "tensor_free"}, {"segment_alloc", "alloc"}, {"segment_free", "free"},
	    {"segment_map", "segment_map"}, {"segment_unmap", "segment_unmap"}, {"oom", "oom"}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (gsr_value_is(action, types[i][0]))
			return types[i][1];
	return NULL;
}

static void tensor_note(struct importing *importing, const char *type, unsigned device, uint64_t address, uint64_t size_bytes,
			uint64_t time_ns)
{
	uint64_t known;

	if (strcmp(type, "tensor_alloc") == 0) {
		if (gsr_map_find(&importing->size_of, address, &known))
			gsr_tally_take(&importing->tensors[device], known);
		gsr_map_put(&importing->size_of, address, size_bytes);
		gsr_map_put(&importing->time_of, address, time_ns);
		gsr_tally_add(&importing->tensors[device], size_bytes);
	} else if (strcmp(type, "tensor_free") == 0) {
		if (gsr_map_take(&importing->size_of, address, &known))
			gsr_tally_take(&importing->tensors[device], known);
		else
			importing->lost++;
		gsr_map_take(&importing->time_of, address, &known);
	}
}

static void events_make(struct importing *importing)
{
	struct gsr_model *model = &importing->build.model;
	uint64_t before_us = importing->start_us;

	for (size_t i = 0; i < importing->count; i++) {
		const struct entry *entry = &importing->entries[i];
		const char *type = type_of(gsr_value_find(entry->value, "action"));
		uint64_t address = gsr_value_number(gsr_value_find(entry->value, "addr"));
		uint64_t size_bytes = counted(gsr_value_find(entry->value, "size"));
		size_t row;

		if (type == NULL)
			continue;
		row = gsr_build_row(&importing->build, GS_SNAP_TABLE_events);
		GSR_CELL(model, events, type, row) =
		    gsr_build_name(&importing->build, GS_SNAP_TABLE_events, GS_SNAP_events_type, type);
		GSR_CELL(model, events, time_delta_ns, row) = (entry->time_us - before_us) * 1000;
		GSR_CELL(model, events, device, row) = entry->device;
		GSR_CELL(model, events, address, row) = address;
		GSR_CELL(model, events, size_bytes, row) = size_bytes;
		GSR_CELL(model, events, stream, row) = counted(gsr_value_find(entry->value, "stream"));
		GSR_CELL(model, events, stack, row) = stack_of(importing, gsr_value_find(entry->value, "frames"));
		before_us = entry->time_us;
		tensor_note(importing, type, entry->device, address, size_bytes, (entry->time_us - importing->start_us) * 1000);
	}
}

/* --- what is alive ----------------------------------------------------------------------------------------------- */

static void tensor_make(struct importing *importing, const struct gsr_value *block, uint64_t device, uint64_t address)
{
	struct gsr_model *model = &importing->build.model;
	uint64_t requested_bytes = counted(gsr_value_find(block, "requested_size"));
	size_t row = gsr_build_row(&importing->build, GS_SNAP_TABLE_live);
	uint64_t time_ns, size_bytes;

	GSR_CELL(model, live, class, row) = gsr_build_name(&importing->build, GS_SNAP_TABLE_live, GS_SNAP_live_class, "tensor");
	GSR_CELL(model, live, device, row) = device;
	GSR_CELL(model, live, address, row) = address;
	GSR_CELL(model, live, stack, row) = stack_of(importing, gsr_value_find(block, "frames"));
	if (gsr_map_find(&importing->time_of, address, &time_ns) && gsr_map_find(&importing->size_of, address, &size_bytes)) {
		GSR_CELL(model, live, size_bytes, row) = size_bytes;
		GSR_CELL(model, live, time_ns, row) = time_ns;
		return;
	}
	size_bytes = requested_bytes > 0 ? requested_bytes : counted(gsr_value_find(block, "size"));
	GSR_CELL(model, live, size_bytes, row) = size_bytes;
	GSR_CELL(model, live, time_ns, row) = (uint64_t)-1; /* before the history */
	importing->lost++;
	gsr_tally_add(&importing->tensors[device], size_bytes);
}

static void segment_make(struct importing *importing, const struct gsr_value *value)
{
	struct gsr_model *model = &importing->build.model;
	const struct gsr_value *blocks = gsr_value_find(value, "blocks"), *expandable = gsr_value_find(value, "is_expandable");
	uint64_t device = counted(gsr_value_find(value, "device")), at = gsr_value_number(gsr_value_find(value, "address"));
	uint64_t size_bytes = counted(gsr_value_find(value, "total_size"));
	size_t segment = gsr_build_row(&importing->build, GS_SNAP_TABLE_segments), row;

	device = device < DEVICES_MAX ? device : DEVICES_MAX - 1;
	GSR_CELL(model, segments, device, segment) = device;
	GSR_CELL(model, segments, kind, segment) =
	    gsr_build_name(&importing->build, GS_SNAP_TABLE_segments, GS_SNAP_segments_kind,
			   expandable != NULL && expandable->type == GSR_VALUE_BOOL && expandable->number != 0 ? "expandable" : "plain");
	GSR_CELL(model, segments, address, segment) = at;
	GSR_CELL(model, segments, size_bytes, segment) = size_bytes;
	row = gsr_build_row(&importing->build, GS_SNAP_TABLE_blocks);
	GSR_CELL(model, blocks, segment, row) = segment;
	GSR_CELL(model, blocks, address, row) = at;
	GSR_CELL(model, blocks, size_bytes, row) = GSR_CELL(model, blocks, reserved_bytes, row) = size_bytes;
	GSR_CELL(model, blocks, stream, row) = counted(gsr_value_find(value, "stream"));
	GSR_CELL(model, blocks, stack, row) = stack_of(importing, gsr_value_find(value, "frames"));
	GSR_CELL(model, blocks, time_ns, row) = (uint64_t)-1;
	GSR_CELL(model, blocks, serial, row) = row + 1;
	for (size_t i = 0; i < gsr_value_count(blocks); i++) {
		const struct gsr_value *block = blocks->list.items[i], *address = gsr_value_find(block, "address");

		if (address != NULL) /* early versions have none: blocks follow each other */
			at = gsr_value_number(address);
		if (gsr_value_is(gsr_value_find(block, "state"), "active_allocated"))
			tensor_make(importing, block, device, at);
		at += counted(gsr_value_find(block, "size"));
	}
}

int gsr_import_torch(const char *bytes, size_t length, struct gsr_model *ret_model, size_t *ret_error_at, const char **ret_why)
{
	struct gsr_pickle *pickle = gsr_pickle_read(bytes, length, ret_error_at, ret_why);
	const struct gsr_value *segments, *traces;
	struct importing *importing;

	if (pickle == NULL)
		return GS_E_INVALID;
	segments = gsr_value_find(gsr_pickle_value(pickle), "segments");
	traces = gsr_value_find(gsr_pickle_value(pickle), "device_traces");
	if (segments == NULL || segments->type != GSR_VALUE_LIST) {
		*ret_error_at = 0;
		*ret_why = "a pickle, but no snapshot of PyTorch: it has no \"segments\"";
		gsr_pickle_drop(pickle);
		return GS_E_INVALID;
	}
	importing = calloc(1, sizeof(*importing));
	if (importing == NULL)
		abort();
	gsr_build_begin(&importing->build, "(snapshot of PyTorch)");
	entries_read(importing, traces);
	events_make(importing);
	for (size_t i = 0; i < segments->list.count; i++)
		segment_make(importing, segments->list.items[i]);
	for (unsigned device = 0; device <= DEVICES_MAX; device++)
		if (importing->tensors[device].total_count > 0)
			gsr_build_live_total(&importing->build, "tensor", device, importing->tensors[device].bytes,
					     importing->tensors[device].peak_bytes, importing->tensors[device].count,
					     importing->tensors[device].peak_count, importing->tensors[device].total_count);
	gsr_build_end(&importing->build, importing->start_us * 1000, (importing->end_us - importing->start_us) * 1000,
		      importing->lost, ret_model);
	gsr_map_drop(&importing->stack_of);
	gsr_map_drop(&importing->size_of);
	gsr_map_drop(&importing->time_of);
	free(importing->entries);
	free(importing);
	gsr_pickle_drop(pickle);
	return 0;
}
