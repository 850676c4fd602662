/* See series.h. */
#include "report/series.h"

#include <stdlib.h>
#include <string.h>

#include "report/export.h"

struct playing {
	const struct gsr_view *view;
	struct gsr_series *series;
	int64_t *times;
	struct gsr_steps steps;
	unsigned *part_of_group;
	struct gsr_point now; /* the moment */
	struct gsr_held held; /* then, by device */
	size_t at;	      /* span */
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* The largest groups at the peak get parts of their own. */
static void parts_choose(struct playing *playing)
{
	const struct gsr_usage *usage = &playing->view->usage;
	struct gsr_series *series = playing->series;
	unsigned own = usage->count <= GSR_SERIES_PARTS ? (unsigned)usage->count : GSR_SERIES_PARTS - 1;

	playing->part_of_group = or_end(calloc(usage->count + 1, sizeof(unsigned)));
	for (size_t i = 0; i < usage->count; i++)
		playing->part_of_group[i] = GSR_SERIES_PARTS;
	for (unsigned part = 0; part < own; part++) {
		size_t best = usage->count;

		for (size_t i = 0; i < usage->count; i++)
			if (playing->part_of_group[i] == GSR_SERIES_PARTS &&
			    (best == usage->count ||
			     usage->groups[i].use.peak_bytes > usage->groups[best].use.peak_bytes))
				best = i;
		playing->part_of_group[best] = part;
		series->part_names[part] = usage->groups[best].name;
	}
	series->part_count = own;
	if (own == usage->count)
		return;
	series->part_names[own] = "the rest";
	series->part_count = own + 1;
	for (size_t i = 0; i < usage->count; i++)
		if (playing->part_of_group[i] == GSR_SERIES_PARTS)
			playing->part_of_group[i] = own;
}

static void item_count(struct playing *playing, uint32_t index, bool begins)
{
	const struct gsr_item *item = &playing->view->replay.items[index];
	unsigned part = playing->part_of_group[playing->view->usage.group_of_origin[item->origin]];
	uint64_t change = begins ? item->size_bytes : -item->size_bytes;

	playing->now.live_bytes += change;
	playing->now.part_bytes[part] += change;
}

static void span_note(struct playing *playing)
{
	struct gsr_point *point = &playing->series->points[playing->at];

	if (playing->now.live_bytes > point->live_bytes) {
		point->live_bytes = playing->now.live_bytes;
		memcpy(point->part_bytes, playing->now.part_bytes, sizeof(point->part_bytes));
	}
	if (playing->now.held_bytes > point->held_bytes)
		point->held_bytes = playing->now.held_bytes;
}

static void time_reach(struct playing *playing, int64_t time_ns)
{
	const struct gsr_series *series = playing->series;
	double share = (double)(time_ns - series->from_ns) / (double)(series->to_ns - series->from_ns);
	size_t span = share <= 0 ? 0 : share >= 1 ? series->count - 1 : (size_t)(share * (double)series->count);

	while (playing->at < span) {
		playing->at++;
		span_note(playing); /* what was there at its start */
	}
}

static uint64_t held_sum(const struct gsr_held *held)
{
	uint64_t sum = 0;

	for (unsigned device = 0; device < 256; device++)
		sum += held->bytes[device];
	return sum;
}

static void play(struct playing *playing)
{
	const struct gsr_model *model = &playing->view->model;
	size_t failed = gsr_name_find(&GSR_TABLE(model, events)->names[GS_SNAP_events_type], "oom");
	struct gsr_series *series = playing->series;

	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		time_reach(playing, playing->times[row]);
		if (playing->steps.ended[row] != 0)
			item_count(playing, playing->steps.ended[row] - 1, false);
		if (playing->steps.begun[row] != 0)
			item_count(playing, playing->steps.begun[row] - 1, true);
		if (gsr_held_step(model, row, &playing->held))
			playing->now.held_bytes = held_sum(&playing->held);
		else if (GSR_CELL(model, events, type, row) == failed)
			series->points[playing->at].failed = true;
		span_note(playing);
		if (playing->now.live_bytes > series->peak_bytes) {
			series->peak_bytes = playing->now.live_bytes;
			series->peak_ns = playing->times[row];
		}
		if (playing->now.held_bytes > series->held_peak_bytes)
			series->held_peak_bytes = playing->now.held_bytes;
	}
	time_reach(playing, series->to_ns);
}

void gsr_series_read(const struct gsr_view *view, size_t count, struct gsr_series *ret_series)
{
	const struct gsr_model *model = &view->model;
	size_t events = GSR_ROWS(model, events);
	struct playing playing = {.view = view, .series = ret_series, .times = gsr_event_times(model)};

	memset(ret_series, 0, sizeof(*ret_series));
	ret_series->count = count > 0 ? count : 1;
	ret_series->points = or_end(calloc(ret_series->count, sizeof(*ret_series->points)));
	ret_series->from_ns = events > 0 && !view->replay.complete ? playing.times[0] : 0;
	ret_series->to_ns = (int64_t)gsr_count(model->meta, GS_KEY(meta, elapsed_ns));
	if (events > 0 && playing.times[events - 1] > ret_series->to_ns)
		ret_series->to_ns = playing.times[events - 1];
	if (ret_series->to_ns <= ret_series->from_ns)
		ret_series->to_ns = ret_series->from_ns + 1;
	gsr_steps_read(&view->replay, events, &playing.steps);
	parts_choose(&playing);
	gsr_held_begin(model, &playing.held);
	playing.now.held_bytes = held_sum(&playing.held);
	ret_series->held_peak_bytes = playing.now.held_bytes;
	for (size_t i = 0; i < view->replay.item_count && view->replay.items[i].born == 0; i++)
		item_count(&playing, (uint32_t)i, true);
	ret_series->peak_bytes = playing.now.live_bytes;
	ret_series->peak_ns = ret_series->from_ns;
	span_note(&playing);
	play(&playing);
	gsr_steps_drop(&playing.steps);
	free(playing.times);
	free(playing.part_of_group);
}

void gsr_series_drop(struct gsr_series *series)
{
	free(series->points);
}
