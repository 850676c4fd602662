/* graph:auto: the queue's thread hands launches to graph/replay.h, which knows what repeats; here is what that asks of the driver, and
 * when graphs have to end.
 *
 * All but the first three and the last is for the queue's thread. */
#ifndef GS_SUBMIT_GRAPH_H
#define GS_SUBMIT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/replay.h"
#include "shim/api/cuda.h"

/* Once, before the queue starts: whether launches are looked at. Says why not, if the settings want it. late_ticks: how
 * long what is of a stream may be held when others get launches; slow_ticks: launches that come further apart are left alone. */
bool gs_graph_start(uint64_t late_ticks, uint64_t slow_ticks);

/* No graph is built or launched from now on, for good; said once. Any thread. Who calls flushes, and drops what there is. */
void gs_graph_stop(const char *why);

/* What was done; NULL: nothing is. */
const struct gsg_replay_stats *gs_graph_stats(void);

/* The next launch, or other work on a stream. Both return the position of the oldest launch that is held. */
uint64_t gs_graph_launch(const struct gsg_launch *launch, uint64_t position);
uint64_t gs_graph_between(uint64_t context_id, CUstream stream);

/* How many launches are held; the position of the oldest. */
uint32_t gs_graph_held(uint64_t *ret_oldest);

/* Launches what is held, for the queue. */
void gs_graph_settle(void *user, enum gsg_settle_reason reason);

/* The same, and ends all graphs. */
void gs_graph_forget(void);

/* Whether launches of the stream wait for those of others without being told. */
static inline bool gs_graph_is_legacy(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_LEGACY;
}

/* The flags of a launch with these attributes. */
uint32_t gs_graph_flags(const CUlaunchConfig *config);

#endif
