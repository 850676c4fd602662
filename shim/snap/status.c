/* See status.h. */
#include "shim/snap/status.h"

#include <stddef.h>

#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/watch/step.h"

#define LINE_BYTES 400
#define DEVICES_MOST 2 /* named one by one */
#define NS_PER_S   1000000000ull

/* As of the line before. */
static struct {
	uint64_t elapsed_ns;
	uint64_t figures[GS_FIGURE_COUNT];
	uint64_t steps[GS_STEP_LOOPS], wall_ns[GS_STEP_LOOPS];
} last;

static void bytes_add(struct gsb_text *text, uint64_t bytes)
{
	uint64_t mib = bytes >> 20;

	if (mib < 10240)
		gsb_text_add(text, "%llu MiB", (unsigned long long)mib);
	else
		gsb_text_add(text, "%llu.%llu GiB", (unsigned long long)(mib / 1024),
			     (unsigned long long)(mib % 1024 * 10 / 1024));
}

static void memory_add(struct gsb_text *text)
{
	int named = 0;

	for (int index = 0; index < gs_device_count() && named < DEVICES_MOST; index++) {
		struct gs_device_info device;
		struct gsa_stats stats;

		if (gs_device_read(index, &device) != GS_OK || device.allocator == NULL)
			continue;
		gsa_stats_read(device.allocator, &stats);
		gsb_text_add(text, "; GPU %d ", device.ordinal);
		bytes_add(text, stats.allocated_bytes.now);
		gsb_text_add(text, " of ");
		bytes_add(text, stats.reserved_bytes.now);
		gsb_text_add(text, " live");
		named++;
	}
}

/* The loop in which most of the time went by. */
static void steps_add(struct gsb_text *text)
{
	uint64_t most_ns = 0, steps = 0, number = 0;

	for (size_t index = 0; index < gs_loop_count(); index++) {
		struct gs_loop loop;
		uint64_t wall_ns, count;

		gs_loop_read(index, &loop);
		/* A loop may have made room for another one. */
		wall_ns = loop.wall_ns >= last.wall_ns[index] ? loop.wall_ns - last.wall_ns[index] : loop.wall_ns;
		count = loop.steps >= last.steps[index] ? loop.steps - last.steps[index] : loop.steps;
		last.wall_ns[index] = loop.wall_ns;
		last.steps[index] = loop.steps;
		if (loop.kind == GS_LOOP_INNER || wall_ns <= most_ns || count == 0)
			continue;
		most_ns = wall_ns;
		steps = count;
		number = loop.steps;
	}
	if (steps > 0)
		gsb_text_add(text, "; step %llu, %llu.%llu ms each", (unsigned long long)number,
			     (unsigned long long)(most_ns / steps / 1000000),
			     (unsigned long long)(most_ns / steps / 100000 % 10));
}

void gs_status_print(uint64_t elapsed_ns)
{
	uint64_t figures[GS_FIGURE_COUNT], passed_ns = elapsed_ns - last.elapsed_ns;
	char line[LINE_BYTES];
	struct gsb_text text;

	if (passed_ns == 0)
		return;
	gs_figures_sum(figures);
	gsb_text_init(&text, line, sizeof(line));
	gsb_text_add(&text, "%llu s", (unsigned long long)(elapsed_ns / NS_PER_S));
	steps_add(&text);
	gsb_text_add(&text, "; %llu launches/s, host waits %llu %%",
		     (unsigned long long)((double)(figures[GS_FIGURE_LAUNCHES] - last.figures[GS_FIGURE_LAUNCHES]) *
					  (double)NS_PER_S / (double)passed_ns),
		     (unsigned long long)(gs_ticks_to_ns(figures[GS_FIGURE_WAIT] - last.figures[GS_FIGURE_WAIT]) * 100 /
					  passed_ns));
	memory_add(&text);
	for (unsigned i = 0; i < GS_FIGURE_COUNT; i++)
		last.figures[i] = figures[i];
	last.elapsed_ns = elapsed_ns;
	gsb_log_always("%s", line);
}
