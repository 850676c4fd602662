/* Chrome's trace format: allocations as torch.profiler notes them ("[memory]" instants), and a counter for each device. Times are
 * microseconds since the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/json_text.h"

struct writing {
	const struct gsr_view *view;
	unsigned long long pid;
	unsigned char *devices; /* by item */
	uint64_t live_bytes[256];
	struct gsr_held held;
	bool more; /* an event was written */
};

static void event_begin(struct writing *writing)
{
	fputs(writing->more ? ",\n" : "\n", stdout);
	writing->more = true;
}

static void thread_name_write(struct writing *writing, const char *what, unsigned long long tid, const char *name)
{
	event_begin(writing);
	printf("{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%llu,\"tid\":%llu,\"args\":{\"name\":", what, writing->pid, tid);
	gsr_out_text(stdout, name);
	fputs("}}", stdout);
}

static void counter_write(struct writing *writing, double time_us, unsigned device)
{
	event_begin(writing);
	if (device == 255)
		printf("{\"ph\":\"C\",\"name\":\"pinned host memory\",\"pid\":%llu,\"ts\":%.3f,\"args\":{\"live\":%llu}}", writing->pid,
		       time_us, (unsigned long long)writing->live_bytes[device]);
	else
		printf("{\"ph\":\"C\",\"name\":\"GPU %u memory\",\"pid\":%llu,\"ts\":%.3f,\"args\":{\"live\":%llu,\"held\":%llu}}", device,
		       writing->pid, time_us, (unsigned long long)writing->live_bytes[device],
		       (unsigned long long)writing->held.bytes[device]);
}

static void memory_write(struct writing *writing, size_t row, double time_us, const struct gsr_item *item, bool begins)
{
	const struct gsr_view *view = writing->view;
	const struct gsr_model *model = &view->model;
	unsigned device = writing->devices[item - view->replay.items];
	uint64_t stack = begins ? gsr_item_stack(view, item) : GSR_CELL(model, events, stack, row);
	char text[GSR_CELL_BYTES];

	writing->live_bytes[device] += begins ? item->size_bytes : -item->size_bytes;
	event_begin(writing);
	printf("{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"s\":\"t\",\"pid\":%llu,\"tid\":%llu,\"ts\":%.3f,"
	       "\"args\":{\"Total Reserved\":%llu,\"Total Allocated\":%llu,\"Bytes\":%s%llu,\"Addr\":%llu,\"Device Id\":%d,"
	       "\"Device Type\":%d,\"Ev Idx\":%zu,\"Line\":",
	       writing->pid, (unsigned long long)GSR_CELL(model, events, thread, row), time_us,
	       (unsigned long long)writing->held.bytes[device], (unsigned long long)writing->live_bytes[device], begins ? "" : "-",
	       (unsigned long long)item->size_bytes, (unsigned long long)gsr_item_address(item, gsr_item_sort(view, item)),
	       device == 255 ? -1 : (int)device, device == 255 ? 0 : 1, row);
	gsr_out_text(stdout, gsr_frame_text(view->places, gsr_places_line(view->places, stack), text));
	fputs("}}", stdout);
	counter_write(writing, time_us, device);
}

static void failure_write(struct writing *writing, size_t row, double time_us)
{
	const struct gsr_model *model = &writing->view->model;

	event_begin(writing);
	printf("{\"ph\":\"i\",\"cat\":\"gpushim\",\"name\":\"out of memory\",\"s\":\"p\",\"pid\":%llu,\"tid\":%llu,\"ts\":%.3f,\"args\":{"
	       "\"Bytes\":%llu}}",
	       writing->pid, (unsigned long long)GSR_CELL(model, events, thread, row), time_us,
	       (unsigned long long)GSR_CELL(model, events, size_bytes, row));
}

static void events_write(struct writing *writing)
{
	const struct gsr_view *view = writing->view;
	const struct gsr_model *model = &view->model;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	int64_t *times = gsr_event_times(model);
	struct gsr_steps steps;

	gsr_steps_read(&view->replay, GSR_ROWS(model, events), &steps);
	for (size_t i = 0; i < view->replay.item_count && view->replay.items[i].born == 0; i++)
		writing->live_bytes[writing->devices[i]] += view->replay.items[i].size_bytes;
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		double time_us = (double)times[row] / 1e3;

		if (gsr_held_step(model, row, &writing->held))
			counter_write(writing, time_us, GSR_CELL(model, events, device, row) & 255);
		if (steps.ended[row] != 0)
			memory_write(writing, row, time_us, &view->replay.items[steps.ended[row] - 1], false);
		if (steps.begun[row] != 0)
			memory_write(writing, row, time_us, &view->replay.items[steps.begun[row] - 1], true);
		if (GSR_CELL(model, events, type, row) == failed)
			failure_write(writing, row, time_us);
	}
	gsr_steps_drop(&steps);
	free(times);
}

int gsr_export_chrome(const struct gsr_view *view, const struct gsr_options *options)
{
	const struct gsr_model *model = &view->model;
	struct writing writing = {.view = view, .pid = gsr_count(model->meta, GS_KEY(meta, pid)), .devices = gsr_item_devices(view)};
	char text[GSR_CELL_BYTES];
	const cJSON *thread;

	(void)options;
	gsr_held_begin(model, &writing.held);
	printf("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"gpushim-report " GPUSHIM_VERSION
	       "\",\"start_wall_ns\":\"%llu\"},\"traceEvents\":[",
	       (unsigned long long)gsr_decimal(model->meta, GS_KEY(meta, start_wall_ns)));
	thread_name_write(&writing, "process_name", writing.pid, gsr_command_text(model, text));
	cJSON_ArrayForEach(thread, model->threads) thread_name_write(&writing, "thread_name", gsr_count(thread, GS_KEY(threads, tid)),
								     gsr_text(thread, GS_KEY(threads, name)));
	events_write(&writing);
	puts("\n]}");
	free(writing.devices);
	return GSR_FINE;
}
