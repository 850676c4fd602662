/* See gather.h. Counting and copying are the same walk: a first pass finds no room and only counts. Others may add
 * meanwhile, hence the slack and the repetition. */
#include "shim/snap/gather.h"

#include "shim/base/err.h"
#include "shim/base/os.h"

#define GATHER_SLACK_ROWS 64

static void rows_drop(struct gs_rows *rows)
{
	if (rows->rows != NULL)
		gsb_os_pages_unmap(rows->rows, rows->capacity * rows->row_bytes);
	rows->rows = NULL;
	rows->capacity = 0;
}

/* 1: everything fitted. 0: there is room now, ask again. */
static int rows_settle(struct gs_rows *rows)
{
	size_t capacity = rows->count + rows->count / 8 + GATHER_SLACK_ROWS;

	if (rows->count <= rows->capacity)
		return 1;
	rows_drop(rows);
	rows->rows = gsb_os_pages_map(capacity * rows->row_bytes);
	if (rows->rows == NULL)
		return GS_E_NO_HOST_MEMORY;
	rows->capacity = capacity;
	return 0;
}

/* The next row, or NULL when it is only counted. */
static void *rows_next(struct gs_rows *rows)
{
	size_t row = rows->count++;

	return row < rows->capacity ? (char *)rows->rows + row * rows->row_bytes : NULL;
}

struct device_walk {
	struct gs_gathered *gathered;
	int device;
};

static void visit_segment(void *user, enum gsa_segment_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct device_walk *walk = user;
	struct gs_segment_row *row = rows_next(&walk->gathered->segments);

	if (row != NULL)
		*row = (struct gs_segment_row){
		    .address = address, .size_bytes = size_bytes, .device = walk->device, .kind = kind};
}

static void visit_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	struct device_walk *walk = user;
	struct gs_block_row *row = rows_next(&walk->gathered->blocks);

	if (row == NULL)
		return;
	row->info = *info;
	row->state = state;
	row->segment = walk->gathered->segments.count > 0 ? (uint32_t)(walk->gathered->segments.count - 1) : 0;
}

static int gather_blocks(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	int settled_segments, settled_blocks;

	do {
		struct device_walk walk = {.gathered = gathered};
		struct gsa_visitor visitor = {.segment = visit_segment, .block = visit_block, .user = &walk};

		gathered->segments.count = 0;
		gathered->blocks.count = 0;
		for (int index = 0; index < source->device_count(); index++) {
			struct gs_device_info device;

			if (source->device_read(index, &device) != 0 || device.allocator == NULL)
				continue;
			walk.device = device.ordinal;
			source->allocator_walk(device.allocator, &visitor);
		}
		settled_segments = rows_settle(&gathered->segments);
		settled_blocks = rows_settle(&gathered->blocks);
		if (settled_segments < 0 || settled_blocks < 0)
			return GS_E_NO_HOST_MEMORY;
	} while (settled_segments == 0 || settled_blocks == 0);
	return 0;
}

static void visit_live(void *user, const struct gs_live *entry)
{
	struct gs_live *row = rows_next(user);

	if (row != NULL)
		*row = *entry;
}

static int gather_live(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	int settled;

	do {
		gathered->live.count = 0;
		source->live_walk(visit_live, &gathered->live);
		settled = rows_settle(&gathered->live);
	} while (settled == 0);
	return settled < 0 ? settled : 0;
}

static void launches_keep_open(struct gs_rows *rows)
{
	struct gs_launch *launches = rows->rows;
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (launches[i].state == GS_WORK_OPEN)
			launches[kept++] = launches[i];
	rows->count = kept;
}

static int gather_launches(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	struct gs_rows *rows = &gathered->launches;
	struct gs_sticky_error error;
	int settled;

	do {
		rows->count = source->launch_read(rows->rows, rows->capacity, NULL);
		settled = rows_settle(rows);
	} while (settled == 0);
	if (settled < 0)
		return settled;
	if (!source->error_read(&error))
		launches_keep_open(rows);
	return 0;
}

static int gather_steps(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	int settled;

	do {
		gathered->steps.count = source->step_read(gathered->steps.rows, gathered->steps.capacity);
		settled = rows_settle(&gathered->steps);
	} while (settled == 0);
	return settled < 0 ? settled : 0;
}

static int gather_threads(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	int settled;

	do {
		gathered->threads.count = source->threads_read(gathered->threads.rows, gathered->threads.capacity);
		settled = rows_settle(&gathered->threads);
	} while (settled == 0);
	return settled < 0 ? settled : 0;
}

/* They are nearly in order: threads that get in each other's way take their numbers by runs. */
static void events_sort(struct gs_event *events, size_t count)
{
	for (size_t row = 1; row < count; row++) {
		struct gs_event event = events[row];
		size_t place = row;

		for (; place > 0 && events[place - 1].time_ns > event.time_ns; place--)
			events[place] = events[place - 1];
		if (place != row)
			events[place] = event;
	}
}

static int gather_events(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	uint64_t end = source->ring_end(), begin = source->ring_begin();
	size_t kept = 0;

	if (begin > end)
		begin = end;
	gathered->events.count = end - begin;
	if (rows_settle(&gathered->events) < 0)
		return GS_E_NO_HOST_MEMORY;
	for (uint64_t index = begin; index < end; index++) {
		struct gs_event *row = (struct gs_event *)gathered->events.rows + kept;

		if (source->ring_read(index, row) == 0)
			kept++;
	}
	events_sort(gathered->events.rows, kept);
	gathered->events.count = kept;
	gathered->events_added = source->ring_added(end);
	if (gathered->events_added < kept)
		gathered->events_added = kept;
	return 0;
}

int gs_gather(struct gs_gathered *gathered, const struct gs_snapshot_source *source)
{
	*gathered = (struct gs_gathered){
	    .segments.row_bytes = sizeof(struct gs_segment_row),
	    .blocks.row_bytes = sizeof(struct gs_block_row),
	    .live.row_bytes = sizeof(struct gs_live),
	    .events.row_bytes = sizeof(struct gs_event),
	    .launches.row_bytes = sizeof(struct gs_launch),
	    .steps.row_bytes = sizeof(struct gs_step),
	    .threads.row_bytes = sizeof(struct gs_snapshot_thread),
	};
	if (gather_events(gathered, source) == 0 && gather_blocks(gathered, source) == 0 &&
	    gather_live(gathered, source) == 0 && gather_launches(gathered, source) == 0 &&
	    gather_steps(gathered, source) == 0 && gather_threads(gathered, source) == 0)
		return 0;
	gs_gather_drop(gathered);
	return GS_E_NO_HOST_MEMORY;
}

void gs_gather_drop(struct gs_gathered *gathered)
{
	rows_drop(&gathered->segments);
	rows_drop(&gathered->blocks);
	rows_drop(&gathered->live);
	rows_drop(&gathered->events);
	rows_drop(&gathered->launches);
	rows_drop(&gathered->steps);
	rows_drop(&gathered->threads);
}
