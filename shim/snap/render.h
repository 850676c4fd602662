/* The content of a snapshot: gathered figures in, the JSON of report/schema.h out. */
#ifndef GS_SNAP_RENDER_H
#define GS_SNAP_RENDER_H

#include "shim/snap/gather.h"
#include "shim/snap/json_out.h"

/* reason is a text of the key meta.reason. Errors stay in json. */
void gs_render(struct gs_json *json, const char *reason, const struct gs_snapshot_process *process,
	       const struct gs_gathered *gathered, const struct gs_snapshot_source *source);

#endif
