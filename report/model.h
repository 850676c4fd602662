/* A snapshot in memory, checked: every index in it is in range, every stack ends at the root.
 *
 * Tables hold one array of 64-bit values per column (signed ones converted), in the columns of report/schema.h.
 * Objects stay cJSON trees whose keys were checked against the same lists, so that the accessors cannot fail. */
#ifndef GSR_MODEL_H
#define GSR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "report/schema.h"

/* Counts are at most this, which JSON holds exactly. */
#define GSR_COUNT_MAX ((uint64_t)1 << 53)

struct gsr_texts {
	char *bytes; /* holds the texts */
	const char **text;
	size_t count;
};

struct gsr_table {
	size_t rows;
	uint64_t *column[GS_SNAP_MAX_COLUMNS];
	struct gsr_texts names[GS_SNAP_MAX_COLUMNS]; /* of columns of kind NAME */
};

/* What schema.h says of each table. */
struct gsr_table_schema {
	const char *key;
	const struct gs_snap_column *columns;
	unsigned column_count;
};
extern const struct gsr_table_schema gsr_table_schemas[GS_SNAP_TABLE_COUNT];

struct gsr_model {
#define GSR_MODEL_OBJECT(object, is_list) cJSON *object;
	GS_SNAP_OBJECTS(GSR_MODEL_OBJECT)
#undef GSR_MODEL_OBJECT
	struct gsr_table tables[GS_SNAP_TABLE_COUNT];
	struct gsr_texts strings;
	const char *root; /* where files of modules are looked for first; NULL = only where they were. Not owned */
};

void gsr_model_drop(struct gsr_model *model);

/* GSR_ROWS(model, blocks), GSR_CELL(model, blocks, stack, row), GSR_NAME(model, blocks, state, row) */
#define GSR_TABLE(model, table) (&(model)->tables[GS_SNAP_TABLE_##table])
#define GSR_ROWS(model, table) (GSR_TABLE(model, table)->rows)
#define GSR_CELL(model, table, key, row) (GSR_TABLE(model, table)->column[GS_SNAP_##table##_##key][row])
#define GSR_NAME(model, table, key, row)                                                                               \
	(GSR_TABLE(model, table)->names[GS_SNAP_##table##_##key].text[GSR_CELL(model, table, key, row)])

/* Row of strings; 0 is "". */
const char *gsr_string(const struct gsr_model *model, uint64_t string);

/* File of a native frame's module; "" when it is unknown. */
const char *gsr_module_path(const struct gsr_model *model, uint64_t frame);

/* Keys of objects, most of which were checked on loading: a count, 0 where it is null or none; a text. */
uint64_t gsr_count(const cJSON *object, const char *key);
const char *gsr_text(const cJSON *object, const char *key);
uint64_t gsr_decimal(const cJSON *object, const char *key);

/* A gauge of a device's allocator, 0 where it is missing. when is "now" or "peak". */
uint64_t gsr_gauge(const cJSON *device, const char *name, const char *when);

/* Whether events were recorded at all (not with history:0), and whether they reach back to the start. */
bool gsr_history_kept(const struct gsr_model *model);
bool gsr_history_complete(const struct gsr_model *model);

/* Whether gpushim wrote it: not where it was made of another tool's file, or of a ring file. And whether it watched waits and
 * launches: not with watch:off. */
bool gsr_is_own(const struct gsr_model *model);
bool gsr_is_watched(const struct gsr_model *model);

/* Whether it was made of the ring file that a killed process left. */
bool gsr_is_recovered(const struct gsr_model *model);

/* Why a snapshot has no waits, or no launches: "the program ran with watch:off". NULL = they were recorded. */
const char *gsr_waits_missing(const struct gsr_model *model);
const char *gsr_launches_missing(const struct gsr_model *model);

/* Sum of a key of live_totals over the devices, for one class. */
uint64_t gsr_live_total(const struct gsr_model *model, const char *live_class, const char *key);

/* Name of a thread; "" where it had ended when the snapshot was written. */
const char *gsr_thread_name(const struct gsr_model *model, uint64_t thread);

/* Index of a name in the list of a NAME column; the number of names when it is not there. */
size_t gsr_name_find(const struct gsr_texts *names, const char *name);

#endif
