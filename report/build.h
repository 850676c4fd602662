/* A model made row by row, for importers. Whatever is alike is there once: texts, frames, stacks.
 *
 * Running out of memory ends the program. */
#ifndef GSR_BUILD_H
#define GSR_BUILD_H

#include "report/map.h"
#include "report/model.h"

struct gsr_build {
	struct gsr_model model;
	size_t capacity[GS_SNAP_TABLE_COUNT];
	char *bytes; /* of the strings, one behind the other */
	size_t bytes_used, bytes_capacity;
	size_t *offsets; /* of each string */
	size_t string_count, string_capacity;
	struct gsr_map string_of, frame_of, stack_of; /* by hash */
};

/* Each table has its row 0, which means none, and the lists of names that importers use. what: for the headings. */
void gsr_build_begin(struct gsr_build *build, const char *what);

/* Gives the model away; the build needs no drop then. end_ns: of the history, since its start. */
void gsr_build_end(struct gsr_build *build, uint64_t start_wall_ns, uint64_t end_ns, uint64_t events_dropped,
		   struct gsr_model *ret_model);
void gsr_build_drop(struct gsr_build *build);

/* A new row of zeros; set its cells with GSR_CELL. */
size_t gsr_build_row(struct gsr_build *build, enum gs_snap_table id);

uint64_t gsr_build_string(struct gsr_build *build, const char *text, size_t length);
uint64_t gsr_build_python(struct gsr_build *build, uint64_t file, uint64_t function, uint64_t line);
uint64_t gsr_build_native(struct gsr_build *build, uint64_t module_path, uint64_t function, uint64_t line);
uint64_t gsr_build_stack(struct gsr_build *build, uint64_t parent, uint64_t frame);

/* Index of a name in a column of names; it is there. */
uint64_t gsr_build_name(const struct gsr_build *build, enum gs_snap_table id, unsigned column, const char *name);

/* A device, with no figures of gpushim's. */
void gsr_build_device(struct gsr_build *build, uint64_t ordinal);
void gsr_build_live_total(struct gsr_build *build, const char *live_class, uint64_t device, uint64_t bytes, uint64_t peak_bytes,
			  uint64_t count, uint64_t peak_count, uint64_t total_count);

#endif
