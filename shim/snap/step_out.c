/* See step_out.h. The figures of a step are the last columns of both tables, in the order of shim/core/figure.h. */
#include "shim/snap/step_out.h"

#include "report/schema.h"
#include "shim/snap/table_out.h"

_Static_assert(GS_SNAP_steps_COLUMNS - GS_SNAP_steps_launches == GS_FIGURE_COUNT &&
		       GS_SNAP_steps_to_host_bytes - GS_SNAP_steps_launches == GS_FIGURE_TO_HOST,
	       "a column for each figure");
_Static_assert(GS_SNAP_loops_COLUMNS - GS_SNAP_loops_launches == GS_FIGURE_COUNT &&
		       GS_SNAP_loops_to_host_bytes - GS_SNAP_loops_launches == GS_FIGURE_TO_HOST,
	       "a column for each figure");

struct steps {
	const struct gs_step *rows;
	uint64_t start_ns;
};

static uint64_t steps_cell(const void *user, size_t row, unsigned column)
{
	const struct steps *steps = user;
	const struct gs_step *step = &steps->rows[row];

	switch (column) {
	case GS_SNAP_steps_loop:
		return step->loop;
	case GS_SNAP_steps_number:
		return step->number;
	case GS_SNAP_steps_time_ns:
		return step->begin_ns - steps->start_ns;
	case GS_SNAP_steps_wall_ns:
		return step->wall_ns;
	default:
		return step->figures[column - GS_SNAP_steps_launches];
	}
}

static uint64_t loops_cell(const void *user, size_t row, unsigned column)
{
	const struct gs_snapshot_source *source = user;
	struct gs_loop loop;

	source->loop_read(row, &loop);
	switch (column) {
	case GS_SNAP_loops_kind:
		return loop.kind;
	case GS_SNAP_loops_name:
		return loop.name;
	case GS_SNAP_loops_stack:
		return loop.stack;
	case GS_SNAP_loops_thread:
		return loop.thread;
	case GS_SNAP_loops_steps:
		return loop.steps;
	case GS_SNAP_loops_wall_ns:
		return loop.wall_ns;
	case GS_SNAP_loops_median_ns:
		return loop.median_ns;
	case GS_SNAP_loops_p99_ns:
		return loop.p99_ns;
	case GS_SNAP_loops_longest_ns:
		return loop.longest_ns;
	default:
		return loop.figures[column - GS_SNAP_loops_launches];
	}
}

static struct gs_names loops_names(unsigned column)
{
	static const char *const kinds[] = {
#define KIND_NAME(name, key, text) key,
		GS_LOOP_KINDS(KIND_NAME)
#undef KIND_NAME
	};

	(void)column;
	return (struct gs_names){kinds, GS_LOOP_KIND_COUNT};
}

void gs_steps_out(struct gs_json *json, const struct gs_rows *rows, uint64_t start_ns)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_steps(GS_SNAP_COLUMN_ROW)};
	const struct steps steps = {.rows = rows->rows, .start_ns = start_ns};

	gs_table_out(json, &(struct gs_table_out){.key = "steps",
						  .columns = columns,
						  .column_count = GS_SNAP_steps_COLUMNS,
						  .row_count = rows->count,
						  .cell = steps_cell,
						  .user = &steps});
}

void gs_loops_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_loops(GS_SNAP_COLUMN_ROW)};

	gs_table_out(json, &(struct gs_table_out){.key = "loops",
						  .columns = columns,
						  .column_count = GS_SNAP_loops_COLUMNS,
						  .row_count = source->loop_count(),
						  .cell = loops_cell,
						  .names = loops_names,
						  .user = source});
}
