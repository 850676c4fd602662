/* How the allocator's memory looked over the history: which addresses had memory behind them from which event to which,
 * and when freed blocks became free for everybody. Moments count events as in replay.h. */
#ifndef GSR_HTML_STATE_H
#define GSR_HTML_STATE_H

#include "report/replay.h"

/* Addresses with physical memory behind them. Neighbours that came one after the other are separate ones. */
struct gsr_extent {
	uint64_t address, end;
	uint32_t born; /* 0 = before the history */
	uint32_t died; /* GSR_NEVER = there at the end */
	uint32_t device;
};

struct gsr_state {
	size_t extent_count, extent_capacity;
	struct gsr_extent *extents;
	uint32_t *done; /* by item of the replay: when its memory was free for everybody; GSR_NEVER = pending at the end */
};

void gsr_state_read(const struct gsr_model *model, const struct gsr_replay *replay, struct gsr_state *ret_state);
void gsr_state_drop(struct gsr_state *state);

#endif
