/* See watch_out.h. */
#include "shim/snap/watch_out.h"

#include "report/schema.h"
#include "shim/snap/table_out.h"

#define NAMES(array) ((struct gs_names){array, sizeof(array) / sizeof((array)[0])})
#define KEY_OF(name, key, ...) key,

static uint64_t waits_cell(const void *user, size_t row, unsigned column)
{
	const struct gs_snapshot_source *source = user;
	struct gs_wait wait;

	source->wait_read(row, &wait);
	switch ((enum gs_snap_waits)column) {
	case GS_SNAP_waits_function:
		return wait.name;
	case GS_SNAP_waits_class:
		return wait.call_class;
	case GS_SNAP_waits_stack:
		return wait.stack;
	case GS_SNAP_waits_way:
		return wait.way;
	case GS_SNAP_waits_memory:
		return wait.memory;
	case GS_SNAP_waits_calls:
		return wait.calls;
	case GS_SNAP_waits_apart:
		return wait.apart;
	case GS_SNAP_waits_first_launch:
		return wait.first_launch;
	case GS_SNAP_waits_last_launch:
		return wait.last_launch;
	case GS_SNAP_waits_host_ns:
		return wait.host_ns;
	case GS_SNAP_waits_longest_ns:
		return wait.longest_ns;
	case GS_SNAP_waits_size_bytes:
		return wait.size_bytes;
	case GS_SNAP_waits_clear:
		return wait.clear;
	case GS_SNAP_waits_clear_ns:
		return wait.clear_ns;
	case GS_SNAP_waits_clear_bytes:
		return wait.clear_bytes;
	case GS_SNAP_waits_drained:
		return wait.drained;
	case GS_SNAP_waits_idle_ns:
		return wait.idle_ns;
	case GS_SNAP_waits_timed:
		return wait.timed;
	case GS_SNAP_waits_late:
		return wait.late;
	case GS_SNAP_waits_followed:
		return wait.followed;
	case GS_SNAP_waits_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names waits_names(unsigned column)
{
	static const char *const classes[] = {GS_CALL_CLASSES(KEY_OF)};
	static const char *const ways[] = {GS_COPY_WAYS(KEY_OF)};
	static const char *const memories[] = {GS_HOST_MEMORIES(KEY_OF)};

	return column == GS_SNAP_waits_class ? NAMES(classes)
					     : column == GS_SNAP_waits_way ? NAMES(ways) : NAMES(memories);
}

static uint64_t kernels_cell(const void *user, size_t row, unsigned column)
{
	const struct gs_snapshot_source *source = user;
	struct gs_kernel kernel;

	source->kernel_read(row, &kernel);
	switch ((enum gs_snap_kernels)column) {
	case GS_SNAP_kernels_kind:
		return kernel.kind;
	case GS_SNAP_kernels_name:
		return kernel.name;
	case GS_SNAP_kernels_stack:
		return kernel.stack;
	case GS_SNAP_kernels_calls:
		return kernel.calls;
	case GS_SNAP_kernels_host_ns:
		return kernel.host_ns;
	case GS_SNAP_kernels_long_calls:
		return kernel.long_calls;
	case GS_SNAP_kernels_long_ns:
		return kernel.long_ns;
	case GS_SNAP_kernels_samples:
		return kernel.samples;
	case GS_SNAP_kernels_sampled_ns:
		return kernel.sampled_ns;
	case GS_SNAP_kernels_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names kernels_names(unsigned column)
{
	static const char *const kinds[] = {GS_WORK_KINDS(KEY_OF)};

	(void)column;
	return NAMES(kinds);
}

static uint64_t crossings_cell(const void *user, size_t row, unsigned column)
{
	const struct gs_snapshot_source *source = user;
	struct gs_crossing crossing;

	source->crossing_read(row, &crossing);
	switch ((enum gs_snap_crossings)column) {
	case GS_SNAP_crossings_kind:
		return crossing.kind;
	case GS_SNAP_crossings_stack:
		return crossing.stack;
	case GS_SNAP_crossings_name:
		return crossing.name;
	case GS_SNAP_crossings_other_stack:
		return crossing.other_stack;
	case GS_SNAP_crossings_other_name:
		return crossing.other_name;
	case GS_SNAP_crossings_calls:
		return crossing.calls;
	case GS_SNAP_crossings_stream:
		return crossing.stream;
	case GS_SNAP_crossings_other_stream:
		return crossing.other_stream;
	case GS_SNAP_crossings_address:
		return crossing.address;
	case GS_SNAP_crossings_size_bytes:
		return crossing.size_bytes;
	case GS_SNAP_crossings_COLUMNS:
		break;
	}
	return 0;
}

static struct gs_names crossings_names(unsigned column)
{
	static const char *const kinds[] = {GS_CROSSINGS(KEY_OF)};

	(void)column;
	return NAMES(kinds);
}

void gs_crossings_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_crossings(GS_SNAP_COLUMN_ROW)};

	gs_table_out(json, &(struct gs_table_out){.key = "crossings",
						  .columns = columns,
						  .column_count = GS_SNAP_crossings_COLUMNS,
						  .row_count = source->crossing_count(),
						  .cell = crossings_cell,
						  .names = crossings_names,
						  .user = source});
}

void gs_waits_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_waits(GS_SNAP_COLUMN_ROW)};

	gs_table_out(json, &(struct gs_table_out){.key = "waits",
						  .columns = columns,
						  .column_count = GS_SNAP_waits_COLUMNS,
						  .row_count = source->wait_count(),
						  .cell = waits_cell,
						  .names = waits_names,
						  .user = source});
}

void gs_kernels_out(struct gs_json *json, const struct gs_snapshot_source *source)
{
	static const struct gs_snap_column columns[] = {GS_SNAP_COLUMNS_kernels(GS_SNAP_COLUMN_ROW)};

	gs_table_out(json, &(struct gs_table_out){.key = "kernels",
						  .columns = columns,
						  .column_count = GS_SNAP_kernels_COLUMNS,
						  .row_count = source->kernel_count(),
						  .cell = kernels_cell,
						  .names = kernels_names,
						  .user = source});
}
