/* Who holds, held and asked for how much memory: the origins of a replay, summed by place. */
#ifndef GSR_USAGE_H
#define GSR_USAGE_H

#include "report/category.h"
#include "report/places.h"
#include "report/replay.h"

enum gsr_group_by { GSR_BY_LINE, GSR_BY_STACK, GSR_BY_FUNCTION, GSR_BY_CLASS, GSR_BY_CATEGORY, GSR_BY_STREAM, GSR_BY_THREAD, GSR_BY_SIZE };
/* BEST: live, or peak where nothing is alive any more. */
enum gsr_order { GSR_ORDER_BEST, GSR_ORDER_LIVE, GSR_ORDER_PEAK, GSR_ORDER_TOTAL, GSR_ORDER_COUNT, GSR_ORDER_TEMPORARY };

struct gsr_group {
	char *name;
	uint64_t stack, thread; /* of one that belongs to it */
	struct gsr_use use;
};

struct gsr_usage {
	struct gsr_use sum;
	bool complete; /* the history reaches back to the start */
	size_t count, capacity;
	struct gsr_group *groups;
	uint32_t *group_of_origin; /* holds until gsr_usage_sort */
};

/* How the replay that is summed up like this has to be read. */
enum gsr_part gsr_part_of(enum gsr_group_by by);

/* categories: for GSR_BY_CATEGORY, else it may be NULL. */
void gsr_usage_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_categories *categories,
		    const struct gsr_replay *replay, enum gsr_group_by by, struct gsr_usage *ret_usage);

/* Sorts, and returns the order that BEST came to. */
enum gsr_order gsr_usage_sort(struct gsr_usage *usage, enum gsr_order order);

/* How many groups have something to show in this order: they come first. */
size_t gsr_usage_shown(const struct gsr_usage *usage, enum gsr_order order);

/* The figure that an order goes by, its name, and whether it is of bytes. */
uint64_t gsr_use_figure(const struct gsr_use *use, enum gsr_order order);
const char *gsr_order_text(enum gsr_order order);
bool gsr_order_is_bytes(enum gsr_order order);

void gsr_usage_drop(struct gsr_usage *usage);

#endif
