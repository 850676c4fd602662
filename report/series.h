/* How much memory there was over real time: cut into equal spans, of each the highest moment. */
#ifndef GSR_SERIES_H
#define GSR_SERIES_H

#include "report/view.h"

#define GSR_SERIES_PARTS 8 /* the largest groups; the last one is the rest */

struct gsr_point {
	uint64_t live_bytes;		      /* the most that was alive at once within the span */
	uint64_t part_bytes[GSR_SERIES_PARTS]; /* of it, group by group */
	uint64_t held_bytes;		      /* the most physical memory that gpushim held */
	bool failed;			      /* an allocation failed */
};

struct gsr_series {
	int64_t from_ns, to_ns; /* since the start */
	size_t count;
	struct gsr_point *points;
	unsigned part_count;
	const char *part_names[GSR_SERIES_PARTS]; /* live as long as the view */
	uint64_t peak_bytes, held_peak_bytes;
	int64_t peak_ns;
};

/* The view's groups are the parts. */
void gsr_series_read(const struct gsr_view *view, size_t count, struct gsr_series *ret_series);
void gsr_series_drop(struct gsr_series *series);

#endif
