/* Who holds, held and asked for how much memory: blocks, tensors and the rest, summed by place.
 *
 * Live figures come from the tables of what was alive when the snapshot was written; total and peak from replaying the
 * events. Where the history is not complete, total counts what it holds, and peak is the highest moment within it. */
#ifndef GSR_USAGE_H
#define GSR_USAGE_H

#include "report/category.h"
#include "report/places.h"

/* Sorts of memory, as bits. X(name, text): the text is also the class in the table live. */
#define GSR_SORTS(X)                                                                                                   \
	X(BLOCK, "block")                                                                                              \
	X(TENSOR, "tensor") X(DRIVER, "driver") X(HOST, "host") X(MANAGED, "managed") X(HANDLE, "handle")
enum gsr_sort_index {
#define GSR_SORT_INDEX(name, text) GSR_SORT_INDEX_##name,
	GSR_SORTS(GSR_SORT_INDEX)
#undef GSR_SORT_INDEX
	    GSR_SORT_COUNT
};
enum gsr_sort {
#define GSR_SORT_BIT(name, text) GSR_SORT_##name = 1 << GSR_SORT_INDEX_##name,
	GSR_SORTS(GSR_SORT_BIT)
#undef GSR_SORT_BIT
};
extern const char *const gsr_sort_names[GSR_SORT_COUNT];

/* What a report speaks of if nobody says otherwise: tensors where PyTorch reported any, else blocks and what the
 * driver served. */
unsigned gsr_sorts_default(const struct gsr_model *model);

enum gsr_group_by { GSR_BY_LINE, GSR_BY_STACK, GSR_BY_FUNCTION, GSR_BY_CLASS, GSR_BY_CATEGORY };
/* BEST: live, or peak where nothing is alive any more. */
enum gsr_order { GSR_ORDER_BEST, GSR_ORDER_LIVE, GSR_ORDER_PEAK, GSR_ORDER_TOTAL, GSR_ORDER_COUNT };

struct gsr_use {
	uint64_t live_bytes, live_count;
	uint64_t peak_bytes, peak_count;   /* alive when all groups together were largest: they add up */
	uint64_t total_bytes, total_count; /* allocations in the history */
};

struct gsr_group {
	char *name;
	uint64_t stack; /* one of its stacks */
	struct gsr_use use;
};

struct gsr_usage {
	struct gsr_use sum;
	bool complete; /* the history reaches back to the start */
	size_t count, capacity;
	struct gsr_group *groups;
};

/* categories: for GSR_BY_CATEGORY, else it may be NULL. */
void gsr_usage_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_categories *categories,
		    unsigned sorts, enum gsr_group_by by, struct gsr_usage *ret_usage);

/* Sorts, and returns the order that BEST came to. */
enum gsr_order gsr_usage_sort(struct gsr_usage *usage, enum gsr_order order);

/* How many groups have something to show in this order: they come first. */
size_t gsr_usage_shown(const struct gsr_usage *usage, enum gsr_order order);

void gsr_usage_drop(struct gsr_usage *usage);

#endif
