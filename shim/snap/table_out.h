/* One table of report/schema.h as JSON: an array per column, preceded by the list of names where the column needs it.
 */
#ifndef GS_SNAP_TABLE_OUT_H
#define GS_SNAP_TABLE_OUT_H

#include "report/schema.h"
#include "shim/snap/json_out.h"

struct gs_names {
	const char *const *names;
	unsigned count;
};

struct gs_table_out {
	const char *key;
	const struct gs_snap_column *columns;
	unsigned column_count;
	size_t row_count;

	/* The value of one column (enum gs_snap_<table>) in one row. Signed values arrive converted. Rows are asked for
	 * in ascending order, column by column. */
	uint64_t (*cell)(const void *user, size_t row, unsigned column);

	struct gs_names (*names)(unsigned column); /* for the columns of kind NAME; may be NULL where there is none */
	const void *user;
};

void gs_table_out(struct gs_json *json, const struct gs_table_out *table);

#endif
