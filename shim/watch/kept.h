/* What lies in a file while the process runs, so that it outlives a kill: the history, what is alive, and the stacks
 * (report/ring_file.h). For snapshot:kill alone; without it every function here does nothing.
 *
 * The file has all its blocks before it is mapped, because a full file system would raise SIGBUS in the program (H27).
 * Where that cannot be had there is no file, which is said once. */
#ifndef GS_WATCH_KEPT_H
#define GS_WATCH_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/ring_file.h"
#include "shim/watch/event.h"

struct gs_snapshot_process;
struct gs_paths;

/* Makes the file at the path, mode 0600, for a ring of as many events (a power of two), or returns NULL. Once, at start.
 * The slots are those that the ring is to use. */
struct gs_ring_slot *gs_kept_start(const char *path, size_t event_slots, const struct gs_snapshot_process *process,
				   const struct gs_paths *paths);

/* An event was added to the ring. born_ns: when what it is about was allocated: the end of one thing may be told after
 * the beginning of the next at its address. */
void gs_kept_event(const struct gs_event *event, uint64_t born_ns);

/* The file is of no use any more. */
void gs_kept_end(void);

void gs_kept_reset_locks(void);

extern bool gs_kept_on; /* constant after start, but for the child of a fork */

#endif
