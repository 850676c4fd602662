/* One snapshot file: the whole of it under its name, or nothing. */
#ifndef GS_SNAP_FILE_H
#define GS_SNAP_FILE_H

#include <stddef.h>

#include "shim/snap/source.h"

#define GS_SNAPSHOT_BUFFER_BYTES 65536

/* Writes the snapshot to `path`. process has been started; its changing part is read here. buffer is scratch of
 * GS_SNAPSHOT_BUFFER_BYTES. One at a time. Says what went wrong, once, on stderr. */
int gs_snapshot_file_write(const char *path, const char *reason, struct gs_snapshot_process *process,
			   const struct gs_snapshot_source *source, char *buffer);

#endif
