/* PyTorch's snapshot, as a pickle or as JSON, for pytorch.org/memory_viz and for torch.cuda._memory_viz.
 *
 * The viewer goes backwards from the segments at the end, and wants each block that was ever alive to lie in one of its device. So
 * a segment here is a range of addresses that was used at all within the history, from its start to its end; what gpushim or
 * PyTorch held when is not shown. Shown is one sort of memory that does not overlap: tensors, or blocks and what the driver
 * served. */
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/value_out.h"

#define GAP_BYTES (2u << 20) /* ranges closer than this are one segment */
#define DEVICES_MAX 256

struct span {
	uint64_t start, end;
	uint32_t item; /* index; of segments not used */
	unsigned char device;
};

struct writing {
	const struct gsr_view *view;
	struct gsr_value_out *out;
	unsigned char *devices; /* by item; DEVICES_MAX - 1 = not on a device, or dropped */
	struct span *segments;
	size_t segment_count;
	struct span *live; /* alive at the end */
	size_t live_count;
	unsigned device_count;
	bool with_categories;
	struct gsr_trail trail;
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static int by_start(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static uint64_t size_of(const struct gsr_item *item)
{
	return item->size_bytes > 0 ? item->size_bytes : 1;
}

static bool is_shown(const struct writing *writing, size_t item)
{
	return writing->devices[item] != DEVICES_MAX - 1;
}

/* Of what is alive at the end nothing may overlap: where the history has lost a free, the younger one stays. */
static void live_read(struct writing *writing)
{
	const struct gsr_replay *replay = &writing->view->replay;
	size_t kept = 0;

	for (size_t i = 0; i < replay->item_count; i++) {
		uint64_t start = gsr_item_address(&replay->items[i], gsr_item_sort(writing->view, &replay->items[i]));

		if (is_shown(writing, i) && replay->items[i].died == GSR_NEVER)
			writing->live[writing->live_count++] =
			    (struct span){start, start + size_of(&replay->items[i]), (uint32_t)i, writing->devices[i]};
	}
	qsort(writing->live, writing->live_count, sizeof(struct span), by_start);
	for (size_t i = 0; i < writing->live_count; i++) {
		struct span *before = kept > 0 ? &writing->live[kept - 1] : NULL, *span = &writing->live[i];

		if (before == NULL || before->device != span->device || before->end <= span->start) {
			writing->live[kept++] = *span;
		} else if (before->item < span->item) {
			writing->devices[before->item] = DEVICES_MAX - 1;
			*before = *span;
		} else {
			writing->devices[span->item] = DEVICES_MAX - 1;
		}
	}
	writing->live_count = kept;
}

static void segments_read(struct writing *writing)
{
	const struct gsr_replay *replay = &writing->view->replay;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < replay->item_count; i++) {
		uint64_t start = gsr_item_address(&replay->items[i], gsr_item_sort(writing->view, &replay->items[i]));

		if (is_shown(writing, i))
			writing->segments[count++] =
			    (struct span){start, start + size_of(&replay->items[i]), 0, writing->devices[i]};
	}
	qsort(writing->segments, count, sizeof(struct span), by_start);
	for (size_t i = 0; i < count; i++) {
		const struct span *span = &writing->segments[i];
		struct span *before = kept > 0 ? &writing->segments[kept - 1] : NULL;

		if (before == NULL || before->device != span->device || span->start - before->start > INT64_MAX ||
		    (span->start > before->end && span->start - before->end > GAP_BYTES))
			writing->segments[kept++] = *span;
		else if (span->end > before->end)
			before->end = span->end;
	}
	writing->segment_count = kept;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static void frame_write(struct writing *writing, uint64_t frame)
{
	const struct gsr_model *model = &writing->view->model;
	size_t shared = GSR_ROWS(model, stacks) + frame;
	const char *file, *function;
	char text[GSR_CELL_BYTES];

	if (!gsr_shared_find(writing->out, shared))
		return;
	gsr_frame_names(writing->view->places, frame, &file, &function);
	gsr_dict_begin(writing->out);
	gsr_key(writing->out, "filename");
	gsr_text_write(writing->out, file);
	gsr_key(writing->out, "line");
	gsr_number_write(writing->out, (int64_t)GSR_CELL(model, frames, line, frame));
	gsr_key(writing->out, "name");
	gsr_text_write(writing->out, function[0] != '\0' ? function : gsr_frame_text(writing->view->places, frame, text));
	gsr_dict_end(writing->out);
	gsr_shared_end(writing->out, shared);
}

static void frames_write(struct writing *writing, uint64_t stack)
{
	gsr_key(writing->out, "frames");
	if (!gsr_shared_find(writing->out, stack))
		return;
	gsr_trail_read(&writing->view->model, stack, &writing->trail);
	gsr_list_begin(writing->out);
	for (size_t i = 0; i < writing->trail.count; i++)
		if (writing->trail.frames[i] != 0)
			frame_write(writing, writing->trail.frames[i]);
	gsr_list_end(writing->out);
	gsr_shared_end(writing->out, stack);
}

static void pair_of(struct writing *writing, const char *key, uint64_t number)
{
	gsr_key(writing->out, key);
	gsr_number_write(writing->out, (int64_t)(number & INT64_MAX));
}

static void text_of(struct writing *writing, const char *key, const char *text)
{
	gsr_key(writing->out, key);
	gsr_text_write(writing->out, text);
}

static void word_of(struct writing *writing, const char *key, const char *word)
{
	gsr_key(writing->out, key);
	gsr_constant_write(writing->out, word);
}

static void block_write(struct writing *writing, uint64_t start, uint64_t end, const char *state, uint64_t requested_bytes,
			uint64_t stack)
{
	gsr_dict_begin(writing->out);
	pair_of(writing, "address", start);
	pair_of(writing, "size", end - start);
	pair_of(writing, "requested_size", requested_bytes);
	word_of(writing, "state", state);
	frames_write(writing, stack);
	gsr_dict_end(writing->out);
}

/* live: its blocks. What lies between them is inactive. */
static void segment_write(struct writing *writing, const struct span *segment, const struct span *live, size_t count)
{
	const struct gsr_replay *replay = &writing->view->replay;
	uint64_t at = segment->start, used = 0, requested = 0;

	for (size_t i = 0; i < count; i++) {
		used += live[i].end - live[i].start;
		requested += replay->items[live[i].item].size_bytes;
	}
	gsr_dict_begin(writing->out);
	pair_of(writing, "device", segment->device);
	pair_of(writing, "address", segment->start);
	pair_of(writing, "total_size", segment->end - segment->start);
	pair_of(writing, "allocated_size", used);
	pair_of(writing, "active_size", used);
	pair_of(writing, "requested_size", requested);
	pair_of(writing, "stream", 0);
	word_of(writing, "segment_type", segment->end - segment->start > GAP_BYTES ? "large" : "small");
	gsr_key(writing->out, "segment_pool_id");
	gsr_pair_write(writing->out, 0, 0);
	gsr_key(writing->out, "is_expandable");
	gsr_bool_write(writing->out, false);
	frames_write(writing, 0);
	gsr_key(writing->out, "blocks");
	gsr_list_begin(writing->out);
	for (size_t i = 0; i < count; i++) {
		const struct gsr_item *item = &replay->items[live[i].item];

		if (live[i].start > at)
			block_write(writing, at, live[i].start, "inactive", 0, 0);
		block_write(writing, live[i].start, live[i].end, "active_allocated", item->size_bytes,
			    gsr_item_stack(writing->view, item));
		at = live[i].end;
	}
	if (at < segment->end)
		block_write(writing, at, segment->end, "inactive", 0, 0);
	gsr_list_end(writing->out);
	gsr_dict_end(writing->out);
}

static void segments_write(struct writing *writing)
{
	size_t at = 0;

	gsr_key(writing->out, "segments");
	gsr_list_begin(writing->out);
	for (size_t i = 0; i < writing->segment_count; i++) {
		const struct span *segment = &writing->segments[i];
		size_t first = at;

		while (at < writing->live_count && writing->live[at].device == segment->device &&
		       writing->live[at].start < segment->end)
			at++;
		segment_write(writing, segment, &writing->live[first], at - first);
	}
	gsr_list_end(writing->out);
}

static void entry_write(struct writing *writing, const char *action, const char *where, uint64_t address, uint64_t size_bytes,
			size_t row, int64_t time_ns, uint64_t stack)
{
	const struct gsr_view *view = writing->view;
	const struct gsr_model *model = &view->model;
	uint64_t wall_ns = gsr_decimal(model->meta, GS_KEY(meta, start_wall_ns)) + (uint64_t)time_ns;
	const char *category;

	gsr_dict_begin(writing->out);
	word_of(writing, "action", action);
	pair_of(writing, where, address);
	pair_of(writing, "size", size_bytes);
	pair_of(writing, "stream", GSR_CELL(model, events, stream, row));
	pair_of(writing, "time_us", wall_ns / 1000);
	if (writing->with_categories) {
		category = gsr_category_of(view->categories, stack, GSR_CELL(model, events, thread, row));
		word_of(writing, "category", strcmp(category, "other") == 0 ? "unknown" : category);
	}
	frames_write(writing, stack);
	gsr_dict_end(writing->out);
}

static void item_write(struct writing *writing, uint32_t index, unsigned device, size_t row, int64_t time_ns, bool begins)
{
	const struct gsr_item *item = &writing->view->replay.items[index];
	uint64_t address = gsr_item_address(item, gsr_item_sort(writing->view, item));
	uint64_t stack = begins ? gsr_item_stack(writing->view, item) : GSR_CELL(&writing->view->model, events, stack, row);

	if (writing->devices[index] != device)
		return;
	if (begins) {
		entry_write(writing, "alloc", "addr", address, size_of(item), row, time_ns, stack);
		return;
	}
	entry_write(writing, "free_requested", "addr", address, size_of(item), row, time_ns, stack);
	entry_write(writing, "free_completed", "addr", address, size_of(item), row, time_ns, stack);
}

/* The viewer colours by category only where some entry has the category "unknown". */
static bool has_other(const struct gsr_view *view)
{
	for (size_t row = 0; row < GSR_ROWS(&view->model, events); row++)
		if (strcmp(gsr_category_of(view->categories, GSR_CELL(&view->model, events, stack, row),
					   GSR_CELL(&view->model, events, thread, row)),
			   "other") == 0)
			return true;
	return false;
}

static void traces_write(struct writing *writing)
{
	const struct gsr_view *view = writing->view;
	const struct gsr_model *model = &view->model;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	int64_t *times = gsr_event_times(model);
	struct gsr_steps steps;

	gsr_steps_read(&view->replay, GSR_ROWS(model, events), &steps);
	gsr_key(writing->out, "device_traces");
	gsr_list_begin(writing->out);
	for (unsigned device = 0; device < writing->device_count; device++) {
		gsr_list_begin(writing->out);
		for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
			if (steps.ended[row] != 0)
				item_write(writing, steps.ended[row] - 1, device, row, times[row], false);
			if (steps.begun[row] != 0)
				item_write(writing, steps.begun[row] - 1, device, row, times[row], true);
			if (GSR_CELL(model, events, type, row) == failed && GSR_CELL(model, events, device, row) == device)
				entry_write(writing, "oom", "device_free", 0, GSR_CELL(model, events, size_bytes, row), row,
					    times[row], GSR_CELL(model, events, stack, row));
		}
		gsr_list_end(writing->out);
	}
	gsr_list_end(writing->out);
	gsr_steps_drop(&steps);
	free(times);
}

static void settings_write(struct writing *writing)
{
	const struct gsr_model *model = &writing->view->model;
	char text[GSR_CELL_BYTES];

	gsr_key(writing->out, "allocator_settings");
	gsr_dict_begin(writing->out);
	text_of(writing, "PYTORCH_CUDA_ALLOC_CONF", "");
	gsr_key(writing->out, "max_split_size");
	gsr_number_write(writing->out, -1);
	gsr_key(writing->out, "garbage_collection_threshold");
	gsr_real_write(writing->out, 0);
	gsr_key(writing->out, "expandable_segments");
	gsr_bool_write(writing->out, false);
	text_of(writing, "gpushim", gsr_text(model->meta, GS_KEY(meta, version)));
	text_of(writing, "gpushim_command", gsr_command_text(model, text));
	text_of(writing, "gpushim_settings", gsr_text(model->meta, GS_KEY(meta, conf)));
	gsr_dict_end(writing->out);
	gsr_key(writing->out, "external_annotations");
	gsr_list_begin(writing->out);
	gsr_list_end(writing->out);
}

static int complain(const char *why)
{
	fprintf(stderr, "gpushim-report: export: memory_viz: %s\n", why);
	return GSR_UNUSABLE;
}

static int export(const struct gsr_view *view, bool is_pickle)
{
	struct writing writing = {.view = view, .devices = gsr_item_devices(view)};
	size_t items = view->replay.item_count;
	const cJSON *device;

	if ((view->sorts & GSR_SORT_TENSOR) != 0 && (view->sorts & (GSR_SORT_BLOCK | GSR_SORT_DRIVER)) != 0) {
		free(writing.devices);
		return complain("tensors lie in blocks: choose one of them with --what");
	}
	cJSON_ArrayForEach(device, view->model.devices) if (gsr_count(device, GS_KEY(devices, ordinal)) < DEVICES_MAX - 1 &&
							     gsr_count(device, GS_KEY(devices, ordinal)) >= writing.device_count)
	    writing.device_count = (unsigned)gsr_count(device, GS_KEY(devices, ordinal)) + 1;
	for (size_t i = 0; i < items; i++) {
		uint64_t address = gsr_item_address(&view->replay.items[i], gsr_item_sort(view, &view->replay.items[i]));

		if (gsr_item_sort(view, &view->replay.items[i]) == GSR_SORT_INDEX_HANDLE || address > INT64_MAX / 2 ||
		    view->replay.items[i].size_bytes > INT64_MAX / 4)
			writing.devices[i] = DEVICES_MAX - 1;
		else if (is_shown(&writing, i) && writing.devices[i] >= writing.device_count)
			writing.device_count = writing.devices[i] + 1u;
	}
	writing.live = or_end(calloc(items + 1, sizeof(struct span)));
	writing.segments = or_end(calloc(items + 1, sizeof(struct span)));
	live_read(&writing);
	segments_read(&writing);
	writing.with_categories = has_other(view);
	writing.out = gsr_value_out_new(stdout, is_pickle, GSR_ROWS(&view->model, stacks) + GSR_ROWS(&view->model, frames) + 1);
	gsr_dict_begin(writing.out);
	segments_write(&writing);
	traces_write(&writing);
	settings_write(&writing);
	gsr_dict_end(writing.out);
	gsr_value_out_end(writing.out);
	gsr_trail_drop(&writing.trail);
	free(writing.live);
	free(writing.segments);
	free(writing.devices);
	return GSR_FINE;
}

int gsr_export_memory_viz(const struct gsr_view *view, const struct gsr_options *options)
{
	(void)options;
	return export(view, true);
}

int gsr_export_memory_viz_json(const struct gsr_view *view, const struct gsr_options *options)
{
	(void)options;
	return export(view, false);
}
