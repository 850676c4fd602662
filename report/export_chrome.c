/* Chrome's trace format: allocations as torch.profiler notes them ("[memory]" instants), and a counter for each device. Times are
 * microseconds since the start. */
#include <stdio.h>

#include "report/export.h"
#include "report/json_text.h"
#include "report/walk.h"

struct writing {
	unsigned long long pid;
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

static void counter_write(void *user, const struct gsr_walk *walk, int64_t time_ns, unsigned device)
{
	struct writing *writing = user;
	double time_us = (double)time_ns / 1e3;

	event_begin(writing);
	if (device == 255)
		printf("{\"ph\":\"C\",\"name\":\"pinned host memory\",\"pid\":%llu,\"ts\":%.3f,\"args\":{\"live\":%llu}}", writing->pid,
		       time_us, (unsigned long long)walk->live_bytes[device]);
	else
		printf("{\"ph\":\"C\",\"name\":\"GPU %u memory\",\"pid\":%llu,\"ts\":%.3f,\"args\":{\"live\":%llu,\"held\":%llu}}", device,
		       writing->pid, time_us, (unsigned long long)walk->live_bytes[device],
		       (unsigned long long)walk->held.bytes[device]);
}

static void memory_write(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns, const struct gsr_item *item,
			 unsigned device, bool begins)
{
	struct writing *writing = user;
	const struct gsr_view *view = walk->view;
	const struct gsr_model *model = &view->model;
	uint64_t stack = begins ? gsr_item_stack(view, item) : GSR_CELL(model, events, stack, row);
	char text[GSR_CELL_BYTES];

	event_begin(writing);
	printf("{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"s\":\"t\",\"pid\":%llu,\"tid\":%llu,\"ts\":%.3f,"
	       "\"args\":{\"Total Reserved\":%llu,\"Total Allocated\":%llu,\"Bytes\":%s%llu,\"Addr\":%llu,\"Device Id\":%d,"
	       "\"Device Type\":%d,\"Ev Idx\":%zu,\"Line\":",
	       writing->pid, (unsigned long long)GSR_CELL(model, events, thread, row), (double)time_ns / 1e3,
	       (unsigned long long)walk->held.bytes[device], (unsigned long long)walk->live_bytes[device], begins ? "" : "-",
	       (unsigned long long)item->size_bytes, (unsigned long long)gsr_item_address(item, gsr_item_sort(view, item)),
	       device == 255 ? -1 : (int)device, device == 255 ? 0 : 1, row);
	gsr_out_text(stdout, gsr_frame_text(view->places, gsr_places_line(view->places, stack), text));
	fputs("}}", stdout);
	counter_write(writing, walk, time_ns, device);
}

static void failure_write(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns)
{
	struct writing *writing = user;
	const struct gsr_model *model = &walk->view->model;

	event_begin(writing);
	printf("{\"ph\":\"i\",\"cat\":\"gpushim\",\"name\":\"out of memory\",\"s\":\"p\",\"pid\":%llu,\"tid\":%llu,\"ts\":%.3f,\"args\":{"
	       "\"Bytes\":%llu}}",
	       writing->pid, (unsigned long long)GSR_CELL(model, events, thread, row), (double)time_ns / 1e3,
	       (unsigned long long)GSR_CELL(model, events, size_bytes, row));
}

int gsr_export_chrome(const struct gsr_view *view, const struct gsr_options *options)
{
	const struct gsr_model *model = &view->model;
	static const struct gsr_walk_visit visit = {counter_write, memory_write, failure_write};
	struct writing writing = {.pid = gsr_count(model->meta, GS_KEY(meta, pid))};
	char text[GSR_CELL_BYTES];
	const cJSON *thread;

	(void)options;
	printf("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"gpushim-report " GPUSHIM_VERSION
	       "\",\"start_wall_ns\":\"%llu\"},\"traceEvents\":[",
	       (unsigned long long)gsr_decimal(model->meta, GS_KEY(meta, start_wall_ns)));
	thread_name_write(&writing, "process_name", writing.pid, gsr_command_text(model, text));
	cJSON_ArrayForEach(thread, model->threads) thread_name_write(&writing, "thread_name", gsr_count(thread, GS_KEY(threads, tid)),
								     gsr_text(thread, GS_KEY(threads, name)));
	gsr_walk(view, &visit, &writing);
	puts("\n]}");
	return GSR_FINE;
}
