/* What processes share of an interprocess event: how often it was recorded, and which record is done. It stands for its
 * newest record, whoever made it. */
#ifndef SIM_EVENT_SHARE_H
#define SIM_EVENT_SHARE_H

#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_op.h"

struct sim_event_share;

/* NULL when the system refuses. */
struct sim_event_share *sim_event_share_new(void);
struct sim_event_share *sim_event_share_get(struct sim_event_share *share);
void sim_event_share_put(struct sim_event_share *share);

/* CUDA_ERROR_MAP_FAILED for this process's own handle. */
CUresult sim_event_share_open(const CUipcEventHandle *handle, struct sim_event_share **ret_share);
CUipcEventHandle sim_event_share_handle(const struct sim_event_share *share);

/* One more record: its number. It is done, as all before it. */
uint64_t sim_event_share_record(struct sim_event_share *share);
void sim_event_share_done(struct sim_event_share *share, uint64_t number);

/* The newest record, and whether a record is done. */
uint64_t sim_event_share_newest(const struct sim_event_share *share);
bool sim_event_share_reached(const struct sim_event_share *share, uint64_t number);

/* An operation that waits until that record is done, in whatever process. */
struct sim_op *sim_event_share_wait_op(struct sim_event_share *share, uint64_t number);

#endif
