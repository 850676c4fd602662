/* See verdict.h. */
#include "report/verdict.h"

#include <string.h>

/* Shares of a step, in percent. */
#define BUSY	    85 /* the device has enough to do */
#define QUEUE_FULL  10 /* so long waited for room in the queue: it is ahead of the device */
#define COPIES	    40
#define WAITS	    30
#define WAITS_SMALL 10
#define IDLE	    10 /* the device has nothing to do after waits */
#define MISLEADS    70 /* a step as the host sees it, of what the device takes */

/* A host that takes longer for a launch does something else meanwhile. */
#define HOST_PER_LAUNCH_NS 50000

/* A kernel in a graph costs the device this much besides its work. */
#define GRAPH_NODE_NS 1000

/* Copies below this size wait, but not for what they carry. */
#define COPY_LEAST_BYTES 65536

const struct gsr_verdict_text gsr_verdict_texts[GSR_VERDICTS] = {
#define VERDICT(name, key, title, advice) {key, title, advice},
#include "report/verdict.def"
};

static bool device_known(const struct gsr_model *model)
{
	uint64_t calls = 0, sampled = 0;

	for (size_t row = 0; row < GSR_ROWS(model, kernels); row++) {
		const char *kind = GSR_NAME(model, kernels, kind, row);

		if (strcmp(kind, "kernel") != 0 && strcmp(kind, "graph") != 0)
			continue;
		calls += GSR_CELL(model, kernels, calls, row);
		if (GSR_CELL(model, kernels, samples, row) > 0)
			sampled += GSR_CELL(model, kernels, calls, row);
	}
	return calls > 0 && sampled >= calls / 10 * 9;
}

/* Of all time in waits, in percent, that in copies of some size. */
static uint64_t copy_percent(const struct gsr_model *model)
{
	uint64_t all = 0, copies = 0;

	for (size_t row = 0; row < GSR_ROWS(model, waits); row++) {
		uint64_t bytes = GSR_CELL(model, waits, size_bytes, row), calls = GSR_CELL(model, waits, calls, row);
		uint64_t ns = GSR_CELL(model, waits, host_ns, row);
		const char *call_class = GSR_NAME(model, waits, class, row);
		bool copy = strcmp(call_class, "copy") == 0 ||
			    (strcmp(call_class, "copy_async") == 0 &&
			     strcmp(GSR_NAME(model, waits, memory, row), "pageable") == 0);

		if (!copy && strcmp(call_class, "sync") != 0)
			continue;
		all += ns;
		if (copy && calls > 0 && bytes / calls >= COPY_LEAST_BYTES)
			copies += ns;
	}
	return all > 0 ? copies * 100 / all : 0;
}

void gsr_step_time_read(const struct gsr_model *model, const uint64_t typical[GS_SNAP_steps_COLUMNS],
			struct gsr_step_time *ret_time)
{
	*ret_time = (struct gsr_step_time){
		.wall = typical[GS_SNAP_steps_wall_ns],
		.launches = typical[GS_SNAP_steps_launches],
		.launch = typical[GS_SNAP_steps_launch_ns],
		.device = typical[GS_SNAP_steps_device_ns],
		.queue = typical[GS_SNAP_steps_queue_ns],
		.wait = typical[GS_SNAP_steps_wait_ns],
		.idle = typical[GS_SNAP_steps_idle_ns],
		.memory = typical[GS_SNAP_steps_memory_ns],
		.load = typical[GS_SNAP_steps_load_ns],
		.copy = typical[GS_SNAP_steps_wait_ns] / 100 * copy_percent(model),
		.device_known = device_known(model),
	};
}

static uint64_t percent(uint64_t part, const struct gsr_step_time *time)
{
	return time->wall > 0 ? part * 100 / time->wall : 0;
}

/* What the host does besides being held up by CUDA. */
static uint64_t host_ns(const struct gsr_step_time *time)
{
	uint64_t held = time->wait + time->queue + time->memory + time->load;

	return time->wall > held ? time->wall - held : 0;
}

static bool launches_all_the_time(const struct gsr_step_time *time)
{
	return time->launches > 0 && host_ns(time) / time->launches <= HOST_PER_LAUNCH_NS;
}

enum gsr_verdict gsr_verdict_of(const struct gsr_step_time *time)
{
	if (percent(time->copy, time) >= COPIES)
		return GSR_VERDICT_COPY;
	if (percent(time->queue, time) >= QUEUE_FULL || (time->device_known && percent(time->device, time) >= BUSY))
		return GSR_VERDICT_COMPUTE;
	if (percent(time->wait, time) >= WAITS)
		return time->device_known || percent(time->idle, time) >= IDLE ? GSR_VERDICT_SYNC : GSR_VERDICT_UNCLEAR;
	if (percent(time->memory + time->load, time) >= WAITS)
		return GSR_VERDICT_UNCLEAR;
	if ((time->device_known || percent(time->wait, time) < WAITS_SMALL) && launches_all_the_time(time))
		return GSR_VERDICT_LAUNCH;
	return GSR_VERDICT_UNCLEAR;
}

char *gsr_verdict_evidence(const struct gsr_step_time *time, enum gsr_verdict verdict, char text[GSR_CELL_BYTES])
{
	char device[GSR_CELL_BYTES], share[GSR_CELL_BYTES], launch[GSR_CELL_BYTES], number[GSR_CELL_BYTES];
	char wait[GSR_CELL_BYTES], queue[GSR_CELL_BYTES], busy[GSR_CELL_BYTES];
	char memory[GSR_CELL_BYTES] = "";

	if (time->device_known)
		gsr_cell(busy, "the device works %.20s of it (%.20s, by samples)", gsr_share(share, time->device, time->wall),
			 gsr_duration(device, time->device));
	else
		gsr_cell(busy, "how long the device works is not known");
	if (percent(time->memory, time) > 0)
		gsr_cell(memory, ", is in calls for memory %.20s", gsr_share(share, time->memory, time->wall));
	gsr_cell(text,
		 "%.120s; the host waits for the device %.20s%.50s, is held up by a full queue %.20s, and has %.20s for each of %.20s launches%s",
		 busy, gsr_share(wait, time->wait, time->wall), memory, gsr_share(queue, time->queue, time->wall),
		 gsr_duration(launch, time->launches > 0 ? host_ns(time) / time->launches : 0),
		 gsr_number(number, time->launches),
		 verdict == GSR_VERDICT_COPY ? "; it waits most in copies" : "");
	return text;
}

uint64_t gsr_verdict_graph_ns(const struct gsr_step_time *time, enum gsr_verdict verdict)
{
	uint64_t least = time->device + time->launches * GRAPH_NODE_NS + time->wait;

	return verdict == GSR_VERDICT_LAUNCH && time->device_known && least < time->wall / 10 * 9 ? least : 0;
}

bool gsr_verdict_misleads(const struct gsr_step_time *time)
{
	return time->device_known && time->wait == 0 && percent(time->device, time) * MISLEADS >= 100 * 100;
}
