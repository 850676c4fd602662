/* A walk through the events of a file in the order in which they happened, for formats that show memory over time: what begins
 * and ends, and how much is live and held by then. */
#ifndef GSR_WALK_H
#define GSR_WALK_H

#include "report/export.h"

/* How far the walk has come. By device; 255: pinned host memory. */
struct gsr_walk {
	const struct gsr_view *view;
	uint64_t live_bytes[256];
	struct gsr_held held;
};

/* Called by the walk; row: of the event, whose time is time_ns. */
struct gsr_walk_visit {
	/* As much is held on the device now. */
	void (*held)(void *user, const struct gsr_walk *walk, int64_t time_ns, unsigned device);

	/* The item begins or ends, which live_bytes takes into account already. */
	void (*memory)(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns, const struct gsr_item *item,
		       unsigned device, bool begins);

	/* An allocation failed. */
	void (*failure)(void *user, const struct gsr_walk *walk, size_t row, int64_t time_ns);
};

void gsr_walk(const struct gsr_view *view, const struct gsr_walk_visit *visit, void *user);

#endif
