/* See walk.h. */
#include "report/walk.h"

#include <stdlib.h>

void gsr_walk(const struct gsr_view *view, const struct gsr_walk_visit *visit, void *user)
{
	const struct gsr_model *model = &view->model;
	const struct gsr_item *items = view->replay.items;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	unsigned char *devices = gsr_item_devices(view);
	int64_t *times = gsr_event_times(model);
	struct gsr_walk walk = {.view = view};
	struct gsr_steps steps;

	gsr_held_begin(model, &walk.held);
	gsr_steps_read(&view->replay, GSR_ROWS(model, events), &steps);
	for (size_t i = 0; i < view->replay.item_count && items[i].born == 0; i++)
		walk.live_bytes[devices[i]] += items[i].size_bytes;
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		if (gsr_held_step(model, row, &walk.held))
			visit->held(user, &walk, times[row], GSR_CELL(model, events, device, row) & 255);
		if (steps.ended[row] != 0) {
			size_t ended = steps.ended[row] - 1;

			walk.live_bytes[devices[ended]] -= items[ended].size_bytes;
			visit->memory(user, &walk, row, times[row], &items[ended], devices[ended], false);
		}
		if (steps.begun[row] != 0) {
			size_t begun = steps.begun[row] - 1;

			walk.live_bytes[devices[begun]] += items[begun].size_bytes;
			visit->memory(user, &walk, row, times[row], &items[begun], devices[begun], true);
		}
		if (GSR_CELL(model, events, type, row) == failed)
			visit->failure(user, &walk, row, times[row]);
	}
	gsr_steps_drop(&steps);
	free(times);
	free(devices);
}
