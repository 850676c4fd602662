/* What a snapshot says about its process. Read from the system calls and /proc alone: no heap, no locale, so that it
 * works while the program exits. */
#ifndef GS_SNAP_PROCESS_H
#define GS_SNAP_PROCESS_H

#include <stddef.h>
#include <stdint.h>

struct gs_snapshot_process {
	/* Fixed by gs_snapshot_process_start. */
	uint64_t start_wall_ns;
	uint64_t start_monotonic_ns;
	int64_t rank;	      /* -1 = none */
	char folder[1024];    /* working folder at the start; "" = unknown */
	char conf_text[4096]; /* GPUSHIM_ALLOC_CONF as given, cut to fit */

	/* Read anew for each snapshot by gs_snapshot_process_read. */
	uint64_t dump_wall_ns;
	uint64_t dump_monotonic_ns;
	uint32_t pid;
	uint32_t ppid;
	char hostname[128];
	char executable[1024];
	char command[16384]; /* arguments, each ended by a zero byte */
	size_t command_bytes;
};

/* The program may change its folder and its environment later, so this is read once, at the start. */
void gs_snapshot_process_start(struct gs_snapshot_process *process);
void gs_snapshot_process_read(struct gs_snapshot_process *process);

struct gs_snapshot_thread {
	uint32_t tid;
	char name[20];
};

/* The threads alive now. Returns how many there are; at most capacity are written. */
size_t gs_snapshot_threads_read(struct gs_snapshot_thread *threads, size_t capacity);

#endif
