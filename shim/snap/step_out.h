/* The tables of steps and of the loops whose rounds they are. */
#ifndef GS_SNAP_STEP_OUT_H
#define GS_SNAP_STEP_OUT_H

#include "shim/snap/gather.h"
#include "shim/snap/json_out.h"
#include "shim/snap/source.h"

/* start_ns: zero of the times in tables. */
void gs_steps_out(struct gs_json *json, const struct gs_rows *steps, uint64_t start_ns);
void gs_loops_out(struct gs_json *json, const struct gs_snapshot_source *source);

#endif
