/* Places whose memory keeps growing while the rest of the program frees what it allocates: leaks.
 *
 * The history is cut into slices of equally many events. A place grows when it allocated in nearly all of them, lately too,
 * something that was never freed. What is kept from the start (parameters) or was made just now (activations, in the middle
 * of a step) fills one or two slices. Where not even half of what was allocated was freed again, a program is still starting
 * and everything grows: then nothing is said. */
#ifndef GSR_GROWTH_H
#define GSR_GROWTH_H

#include "report/view.h"

struct gsr_growth {
	unsigned slices; /* a bit for each in which something was kept */
	uint64_t kept_bytes, kept_count;
	uint64_t allocations; /* in the history */
};

struct gsr_growths {
	struct gsr_growth *of_group;
	uint32_t *groups; /* those that grow, most bytes first */
	size_t count;
	uint64_t born, died; /* items of the history */
	double seconds;	     /* from its first event to the snapshot */
	bool settled;	     /* otherwise count says nothing */
};

/* Of the view's groups. */
void gsr_growths_read(const struct gsr_view *view, struct gsr_growths *ret_growths);
void gsr_growths_drop(struct gsr_growths *growths);

#endif
