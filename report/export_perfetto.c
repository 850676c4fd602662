/* Perfetto's own trace: tracks for the process, its threads, and counters of each device; allocations and frees as instants on their
 * threads, named by the line. Field numbers are those of its trace.proto. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/map.h"
#include "report/proto.h"
#include "report/walk.h"

enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT, PACKET_INTERNED_DATA, PACKET_SEQUENCE_FLAGS,
       PACKET_TRACK_DESCRIPTOR = 60 };
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_BYTES = 3 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME_IID, EVENT_TRACK, EVENT_CATEGORY = 22, EVENT_COUNTER_VALUE = 30 };
enum { TYPE_INSTANT = 3, TYPE_COUNTER };
enum { INTERNED_EVENT_NAME = 2 };
enum { NAME_IID = 1, NAME_NAME };
enum { ANNOTATION_UINT = 3, ANNOTATION_POINTER = 7, ANNOTATION_NAME = 10 };

#define SEQUENCE 1
#define PROCESS_TRACK 1
#define FAILURE_NAME 1	     /* names from 2 on are frames */
#define THREAD_TRACKS 100000 /* + the thread's number */

struct writing {
	const struct gsr_view *view;
	uint64_t base_ns;
	struct gsr_proto packet, part, inner;
	bool begun;
	struct gsr_map threads; /* that have a track */
	bool *named; /* by name */
};

static uint64_t live_track(unsigned device)
{
	return 1000 + device * 2;
}

static void packet_end(struct writing *writing)
{
	struct gsr_proto file = {0};

	gsr_proto_number(&writing->packet, PACKET_SEQUENCE_ID, SEQUENCE);
	gsr_proto_number(&writing->packet, PACKET_SEQUENCE_FLAGS,
			 writing->begun ? FLAG_NEEDS_STATE : FLAG_STATE_CLEARED | FLAG_NEEDS_STATE);
	writing->begun = true;
	gsr_proto_message(&file, TRACE_PACKET, &writing->packet);
	fwrite(file.bytes, 1, file.length, stdout);
	gsr_proto_drop(&file);
}

static void track_end(struct writing *writing)
{
	gsr_proto_message(&writing->packet, PACKET_TRACK_DESCRIPTOR, &writing->part);
	packet_end(writing);
}

static void counter_track_write(struct writing *writing, uint64_t track, const char *name)
{
	gsr_proto_number(&writing->part, TRACK_UUID, track);
	gsr_proto_text(&writing->part, TRACK_NAME, name);
	gsr_proto_number(&writing->part, TRACK_PARENT, PROCESS_TRACK);
	gsr_proto_number(&writing->inner, COUNTER_UNIT, COUNTER_UNIT_BYTES);
	gsr_proto_message(&writing->part, TRACK_COUNTER, &writing->inner);
	track_end(writing);
}

/* Threads may have ended long before the snapshot: each gets its track with its first event. */
static void thread_track_need(struct writing *writing, uint64_t tid)
{
	const struct gsr_model *model = &writing->view->model;
	uint64_t known;

	if (gsr_map_find(&writing->threads, tid, &known))
		return;
	gsr_map_put(&writing->threads, tid, 1);
	gsr_proto_number(&writing->part, TRACK_UUID, THREAD_TRACKS + tid);
	gsr_proto_number(&writing->part, TRACK_PARENT, PROCESS_TRACK);
	gsr_proto_number(&writing->inner, THREAD_PID, gsr_count(model->meta, GS_KEY(meta, pid)));
	gsr_proto_number(&writing->inner, THREAD_TID, tid);
	gsr_proto_text(&writing->inner, THREAD_NAME, gsr_thread_name(model, tid));
	gsr_proto_message(&writing->part, TRACK_THREAD, &writing->inner);
	track_end(writing);
}

static void tracks_write(struct writing *writing)
{
	const struct gsr_model *model = &writing->view->model;
	uint64_t pid = gsr_count(model->meta, GS_KEY(meta, pid));
	const cJSON *row;
	char text[GSR_CELL_BYTES];

	gsr_proto_number(&writing->part, TRACK_UUID, PROCESS_TRACK);
	gsr_proto_number(&writing->inner, PROCESS_PID, pid);
	gsr_proto_text(&writing->inner, PROCESS_NAME, gsr_command_text(model, text));
	gsr_proto_message(&writing->part, TRACK_PROCESS, &writing->inner);
	track_end(writing);
	cJSON_ArrayForEach(row, model->devices)
	{
		unsigned device = gsr_count(row, GS_KEY(devices, ordinal)) & 255;

		counter_track_write(writing, live_track(device), gsr_cell(text, "GPU %u live", device));
		counter_track_write(writing, live_track(device) + 1, gsr_cell(text, "GPU %u held", device));
	}
	counter_track_write(writing, live_track(255), "pinned host memory");
}

static void counter_write(struct writing *writing, int64_t time_ns, uint64_t track, uint64_t value)
{
	gsr_proto_number(&writing->packet, PACKET_TIMESTAMP, writing->base_ns + (uint64_t)time_ns);
	gsr_proto_number(&writing->part, EVENT_TYPE, TYPE_COUNTER);
	gsr_proto_number(&writing->part, EVENT_TRACK, track);
	gsr_proto_number(&writing->part, EVENT_COUNTER_VALUE, value);
	gsr_proto_message(&writing->packet, PACKET_TRACK_EVENT, &writing->part);
	packet_end(writing);
}

static void annotation_add(struct writing *writing, const char *name, unsigned field, uint64_t value)
{
	gsr_proto_text(&writing->inner, ANNOTATION_NAME, name);
	gsr_proto_number(&writing->inner, field, value);
	gsr_proto_message(&writing->part, EVENT_ANNOTATION, &writing->inner);
}

/* An event's name is sent once, with the first that has it. */
static void name_add(struct writing *writing, uint64_t name, const char *text)
{
	struct gsr_proto data = {0};

	if (writing->named[name])
		return;
	writing->named[name] = true;
	gsr_proto_number(&writing->inner, NAME_IID, name);
	gsr_proto_text(&writing->inner, NAME_NAME, text);
	gsr_proto_message(&data, INTERNED_EVENT_NAME, &writing->inner);
	gsr_proto_message(&writing->packet, PACKET_INTERNED_DATA, &data);
	gsr_proto_drop(&data);
}

static void instant_write(struct writing *writing, size_t row, int64_t time_ns, uint64_t name, const char *category,
			  uint64_t address, uint64_t size_bytes)
{
	gsr_proto_number(&writing->packet, PACKET_TIMESTAMP, writing->base_ns + (uint64_t)time_ns);
	annotation_add(writing, "bytes", ANNOTATION_UINT, size_bytes);
	annotation_add(writing, "address", ANNOTATION_POINTER, address);
	gsr_proto_number(&writing->part, EVENT_TYPE, TYPE_INSTANT);
	gsr_proto_number(&writing->part, EVENT_NAME_IID, name);
	gsr_proto_number(&writing->part, EVENT_TRACK, THREAD_TRACKS + GSR_CELL(&writing->view->model, events, thread, row));
	gsr_proto_text(&writing->part, EVENT_CATEGORY, category);
	gsr_proto_message(&writing->packet, PACKET_TRACK_EVENT, &writing->part);
	packet_end(writing);
}

static void memory_write(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns, const struct gsr_item *item,
			 unsigned device, bool begins)
{
	struct writing *writing = user;
	const struct gsr_view *view = walk->view;
	uint64_t frame = gsr_places_line(view->places, gsr_item_stack(view, item));
	char text[GSR_CELL_BYTES];

	thread_track_need(writing, GSR_CELL(&view->model, events, thread, row));
	name_add(writing, frame + 2, gsr_frame_text(view->places, frame, text));
	instant_write(writing, row, time_ns, frame + 2, begins ? "alloc" : "free", gsr_item_address(item, gsr_item_sort(view, item)),
		      item->size_bytes);
	counter_write(writing, time_ns, live_track(device), walk->live_bytes[device]);
}

static void held_write(void *user, const struct gsr_walk *walk, int64_t time_ns, unsigned device)
{
	counter_write(user, time_ns, live_track(device) + 1, walk->held.bytes[device]);
}

static void failure_write(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns)
{
	const struct gsr_model *model = &walk->view->model;

	thread_track_need(user, GSR_CELL(model, events, thread, row));
	name_add(user, FAILURE_NAME, "out of memory");
	instant_write(user, row, time_ns, FAILURE_NAME, "oom", 0, GSR_CELL(model, events, size_bytes, row));
}

int gsr_export_perfetto(const struct gsr_view *view, const struct gsr_options *options)
{
	static const struct gsr_walk_visit visit = {held_write, memory_write, failure_write};
	const struct gsr_model *model = &view->model;
	struct writing writing = {.view = view,
				  .base_ns = gsr_decimal(model->meta, GS_KEY(meta, monotonic_base_ns)),
				  .named = calloc(GSR_ROWS(model, frames) + 3, sizeof(bool))};

	(void)options;
	if (writing.named == NULL)
		abort();
	tracks_write(&writing);
	gsr_walk(view, &visit, &writing);
	gsr_proto_drop(&writing.packet);
	gsr_proto_drop(&writing.part);
	gsr_proto_drop(&writing.inner);
	gsr_map_drop(&writing.threads);
	free(writing.named);
	return GSR_FINE;
}
