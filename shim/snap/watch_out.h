/* The tables of what watching found: waits and kernels. */
#ifndef GS_SNAP_WATCH_OUT_H
#define GS_SNAP_WATCH_OUT_H

#include "shim/snap/json_out.h"
#include "shim/snap/source.h"

void gs_waits_out(struct gs_json *json, const struct gs_snapshot_source *source);
void gs_crossings_out(struct gs_json *json, const struct gs_snapshot_source *source);
void gs_kernels_out(struct gs_json *json, const struct gs_snapshot_source *source);

#endif
