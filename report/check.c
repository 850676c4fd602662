/* See check.h. */
#include "report/check.h"

#include <stdio.h>

#include "shim/base/err.h"

/* How many rows a column of this kind may point at. */
static uint64_t limit_of(const struct gsr_model *model, const struct gsr_table *table, enum gs_snap_kind kind,
			 unsigned column)
{
	size_t rows = 0;

	switch (kind) {
	case GS_SNAP_COUNT:
	case GS_SNAP_SIGNED:
	case GS_SNAP_HEX:
		return UINT64_MAX;
	case GS_SNAP_NAME:
		return table->names[column].count;
	case GS_SNAP_STRING:
		rows = model->strings.count;
		break;
	case GS_SNAP_FRAME:
		rows = GSR_ROWS(model, frames);
		break;
	case GS_SNAP_MODULE:
		rows = GSR_ROWS(model, modules);
		break;
	case GS_SNAP_STACK:
		rows = GSR_ROWS(model, stacks);
		break;
	case GS_SNAP_SEGMENT:
		return GSR_ROWS(model, segments);
	case GS_SNAP_LOOP:
		return GSR_ROWS(model, loops);
	}
	return rows > 0 ? rows : 1; /* 0 is "none", also of an empty table */
}

/* A parent is always a smaller number, so following parents ends. */
static int stacks_check(const struct gsr_model *model, char *wrong, size_t capacity)
{
	for (size_t row = 0; row < GSR_ROWS(model, stacks); row++) {
		uint64_t parent = GSR_CELL(model, stacks, parent, row);

		if (parent < row || (parent == 0 && row == 0))
			continue;
		snprintf(wrong, capacity, "the stacks run in a circle: stack %zu has parent %llu", row,
			 (unsigned long long)parent);
		return GS_E_INVALID;
	}
	return 0;
}

int gsr_table_check(const struct gsr_model *model, enum gs_snap_table id, const char *key,
		    const struct gs_snap_column *columns, unsigned column_count, char *wrong, size_t capacity)
{
	const struct gsr_table *table = &model->tables[id];

	for (unsigned column = 0; column < column_count; column++) {
		uint64_t limit = limit_of(model, table, columns[column].kind, column);

		for (size_t row = 0; limit != UINT64_MAX && row < table->rows; row++) {
			if (table->column[column][row] < limit)
				continue;
			snprintf(wrong, capacity, "%s.%s: row %zu points at %llu of %llu", key, columns[column].key,
				 row, (unsigned long long)table->column[column][row], (unsigned long long)limit);
			return GS_E_INVALID;
		}
	}
	return id == GS_SNAP_TABLE_stacks ? stacks_check(model, wrong, capacity) : 0;
}
