/* What became of each allocation: the events of a snapshot played again, joined with what was alive at its end.
 *
 * An item is one allocation; an origin is a (sort of memory, stack, thread) that items come from, or a (sort, part): the stream,
 * or the size as a power of two. Live figures of an
 * origin come from the tables of what was alive when the snapshot was written; total and peak from the events. Where the
 * history is not complete, total counts what it holds, and peak is the highest moment within it. */
#ifndef GSR_REPLAY_H
#define GSR_REPLAY_H

#include "report/model.h"

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

struct gsr_use {
	uint64_t live_bytes, live_count;
	uint64_t peak_bytes, peak_count;   /* alive when all together were largest: they add up */
	uint64_t total_bytes, total_count; /* allocations in the history */
	uint64_t temporary_bytes, temporary_count; /* of these, freed before the second allocation after them */
};

enum gsr_part { GSR_PART_NONE, GSR_PART_STREAM, GSR_PART_SIZE };

struct gsr_origin {
	unsigned sort; /* index */
	uint64_t stack, thread; /* with parts: of the first one */
	uint64_t part;
	struct gsr_use use;
};

#define GSR_NEVER UINT32_MAX

struct gsr_item {
	uint64_t size_bytes;
	uint64_t key; /* address, with the sort in the uppermost four bits: gsr_item_address */
	uint32_t device; /* ordinal; 255 = host */
	uint32_t origin;
	uint32_t born; /* events until then, its own included; 0 = before the history */
	uint32_t died; /* the same; GSR_NEVER = alive at the end */
};

static inline uint64_t gsr_item_address(const struct gsr_item *item, unsigned sort)
{
	return item->key ^ (uint64_t)sort << 60;
}

struct gsr_replay {
	bool complete; /* the history reaches back to the start */
	size_t origin_count, origin_capacity;
	struct gsr_origin *origins;
	size_t item_count, item_capacity;
	struct gsr_item *items; /* by birth */
};

/* Ends the program when memory runs out. */
void gsr_replay_read(const struct gsr_model *model, unsigned sorts, enum gsr_part part, struct gsr_replay *ret_replay);
void gsr_replay_drop(struct gsr_replay *replay);

/* Which item each event begins and ends: its index + 1; 0 = none. */
struct gsr_steps {
	uint32_t *begun, *ended; /* by event */
};
void gsr_steps_read(const struct gsr_replay *replay, size_t event_count, struct gsr_steps *ret_steps);
void gsr_steps_drop(struct gsr_steps *steps);

/* When each event happened, in nanoseconds since the start. The caller frees it. */
int64_t *gsr_event_times(const struct gsr_model *model);

/* What an event does, by the index of its type's name: begins or ends memory of a sort, or neither. The caller frees it. */
struct gsr_meaning {
	bool begins, ends;
	unsigned sort; /* index */
};
struct gsr_meaning *gsr_event_meanings(const struct gsr_model *model);

#endif
