/* A log as RMM's logging adaptor writes it: one allocation or free a line. Times are of the day, in UTC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"

static void row_print(const struct gsr_view *view, size_t row, int64_t time_ns, const char *action, uint64_t address,
		      uint64_t size_bytes)
{
	uint64_t wall_us = (gsr_decimal(view->model.meta, GS_KEY(meta, start_wall_ns)) + (uint64_t)time_ns) / 1000;
	unsigned long long second = wall_us / 1000000 % 86400;

	printf("%llu,%02llu:%02llu:%02llu.%06llu,%s,0x%llx,%llu,%llu\n",
	       (unsigned long long)GSR_CELL(&view->model, events, thread, row), second / 3600, second / 60 % 60, second % 60,
	       (unsigned long long)(wall_us % 1000000), action, (unsigned long long)address, (unsigned long long)size_bytes,
	       (unsigned long long)GSR_CELL(&view->model, events, stream, row));
}

int gsr_export_rmm_csv(const struct gsr_view *view, const struct gsr_options *options)
{
	const struct gsr_model *model = &view->model;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	int64_t *times = gsr_event_times(model);
	struct gsr_steps steps;

	(void)options;
	gsr_steps_read(&view->replay, GSR_ROWS(model, events), &steps);
	puts("Thread,Time,Action,Pointer,Size,Stream");
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		const struct gsr_item *ended = steps.ended[row] != 0 ? &view->replay.items[steps.ended[row] - 1] : NULL;
		const struct gsr_item *begun = steps.begun[row] != 0 ? &view->replay.items[steps.begun[row] - 1] : NULL;

		/* what was there before the log began cannot be freed in it */
		if (ended != NULL && ended->born > 0)
			row_print(view, row, times[row], "free", gsr_item_address(ended, gsr_item_sort(view, ended)), ended->size_bytes);
		if (begun != NULL)
			row_print(view, row, times[row], "allocate", gsr_item_address(begun, gsr_item_sort(view, begun)),
				  begun->size_bytes);
		if (GSR_CELL(model, events, type, row) == failed)
			row_print(view, row, times[row], "allocate failure", 0, GSR_CELL(model, events, size_bytes, row));
	}
	gsr_steps_drop(&steps);
	free(times);
	return GSR_FINE;
}
