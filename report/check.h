/* Do the numbers in a table point at something? After this, readers of a model need no bounds checks. */
#ifndef GSR_CHECK_H
#define GSR_CHECK_H

#include "report/model.h"

/* 0, or GS_E_INVALID with one sentence in wrong. */
int gsr_table_check(const struct gsr_model *model, enum gs_snap_table id, const char *key,
		    const struct gs_snap_column *columns, unsigned column_count, char *wrong, size_t capacity);

#endif
