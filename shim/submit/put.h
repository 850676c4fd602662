/* Between submit.c, which owns the queue, and the kinds of work that travel in it: launch.c has launches, work.c all else. For
 * these files only. */
#ifndef GS_SUBMIT_PUT_H
#define GS_SUBMIT_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/queue.h"
#include "shim/api/cuda.h"
#include "shim/core/device.h"
#include "shim/submit/count.h"

struct gs_call;

/* Whether work on this stream may be put off as things are, and may be known to succeed (H1, H9, H16). */
enum gs_submit_reason gs_put_may(const struct gs_call *call, CUstream stream);

/* There is a queue, and nothing that was put off has failed. */
bool gs_put_ready(void);

/* No object calls driver functions that the shim does not know (H17). Asks the loader, unless it has just done so. */
bool gs_put_sees_all(const struct gs_call *call);

/* Makes the queue. False: there is none, or not yet. */
bool gs_put_start(void);

/* Whether the next piece of work should be put, since it may. */
bool gs_put_wants(const struct gs_call *call);

/* A record to fill, and its end. NULL: nothing can be put. */
struct gsg_record *gs_put_begin(const struct gs_call *call, enum gs_submit_kind kind, size_t size_bytes);
void gs_put_end(void);

/* shim/submit/lead.h: a mark behind all that has been put; and somebody is about to put more, or no longer. */
void gs_put_mark(uint64_t covers);
void gs_put_pause(bool begins);

/* The work was not put: returns when all that was has been made. False. */
bool gs_put_not(enum gs_submit_reason reason);

/* Launches may become nodes of graphs (shim/submit/graph.h). */
bool gs_put_replays(void);

/* What the queue's thread does with a record of either sort. */
CUresult gs_put_launch_make(const struct gsg_record *record);
CUresult gs_put_work_make(const struct gsg_record *record);

/* Of work other than a launch. */
CUstream gs_put_work_stream(const struct gsg_record *record, uint64_t *ret_context_id);

#endif
