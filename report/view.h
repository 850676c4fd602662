/* A snapshot with what commands over several files make of it: who holds how much, by the options' groups. */
#ifndef GSR_VIEW_H
#define GSR_VIEW_H

#include "report/command.h"

struct gsr_view {
	const char *path;
	struct gsr_model model;
	unsigned sorts;
	struct gsr_places *places;
	struct gsr_categories *categories;
	struct gsr_replay replay;
	struct gsr_usage usage; /* not sorted */
};

/* GSR_FINE, or GSR_UNUSABLE after one line on standard error: then there is nothing to drop. */
int gsr_view_load(const char *path, const struct gsr_options *options, struct gsr_view *ret_view);
void gsr_view_drop(struct gsr_view *view);

/* The same of a model that the caller keeps, and drops after the view. */
int gsr_view_read(const char *path, const struct gsr_model *model, const struct gsr_options *options,
		  struct gsr_view *ret_view);
void gsr_view_end(struct gsr_view *view);

/* "tensor, host" */
char *gsr_sorts_text(unsigned sorts, char text[GSR_CELL_BYTES]);

/* "rank 3", or the process's number where it has none. */
char *gsr_rank_text(const struct gsr_model *model, char text[GSR_CELL_BYTES]);

#endif
