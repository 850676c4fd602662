/* Snapshots of the process: when asked, the whole state goes to a JSON file (report/schema.md) in snapshot_dir.
 *
 * Names: gpushim.<pid>[.rank<N>].json at exit; otherwise with .oom, .error, .signal, .peak or a running number before
 * .json. A later snapshot of the same name replaces the earlier one. Files appear whole or not at all: they are
 * written beside their name, mode 0600, and renamed. Makes no driver call, uses no heap, keeps errno. */
#ifndef GS_SNAP_SNAPSHOT_H
#define GS_SNAP_SNAPSHOT_H

#include <stddef.h>

/*  X(name, text in the snapshot, suffix of the file; NULL = running number) */
#define GS_SNAPSHOT_REASONS(X)                                                                                         \
	X(EXIT, "exit", "")                                                                                            \
	X(OOM, "oom", ".oom")                                                                                          \
	X(ERROR, "error", ".error")                                                                                    \
	X(SIGNAL, "signal", ".signal")                                                                                 \
	X(TIME, "time", NULL)                                                                                          \
	X(REQUEST, "request", NULL)                                                                                    \
	X(PEAK, "peak", ".peak")

enum gs_snapshot_reason {
#define GS_SNAPSHOT_REASON_ENUM(name, text, suffix) GS_SNAPSHOT_AT_##name,
	GS_SNAPSHOT_REASONS(GS_SNAPSHOT_REASON_ENUM)
#undef GS_SNAPSHOT_REASON_ENUM
};

#define GS_SNAPSHOT_PATH_BYTES 2400

/* Notes the time, the working folder, the rank and the configuration text: once, after gs_conf_load. */
void gs_snapshot_init(void);

/* ret_path gets the absolute path, cut to capacity; it may be NULL. GS_E_IO: the file could not be written;
 * GS_E_NO_HOST_MEMORY: no pages for the copies. Either was said in one line on stderr. Takes the SNAPSHOT lock and
 * the locks of the readers, so the caller may hold none but BOOT or CONTEXT. */
int gs_snapshot_write(enum gs_snapshot_reason reason, char *ret_path, size_t capacity);

/* snapshot:kill: the file for the history, beside the snapshots and named as they are, with .ring. NULL: there is none.
 * Once, after gs_snapshot_init. */
struct gs_ring_slot *gs_snapshot_keep(size_t event_slots);

/* In the child of a fork. */
void gs_snapshot_reset_locks(void);

#endif
