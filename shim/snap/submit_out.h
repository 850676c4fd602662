/* What was put off, and what graphs did, for the snapshot: lists of figures that tell what they mean themselves. */
#ifndef GS_SNAP_SUBMIT_OUT_H
#define GS_SNAP_SUBMIT_OUT_H

#include "shim/snap/json_out.h"
#include "shim/snap/source.h"

void gs_submit_out(struct gs_json *json, const struct gs_snapshot_source *source);
void gs_graph_out(struct gs_json *json, const struct gs_snapshot_source *source);

#endif
