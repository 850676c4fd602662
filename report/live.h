/* What a running process shows of itself and can be asked for: one page of shared memory, written by libgpushim.so and
 * read by gpushim-report live and snapshot, and by other processes under gpushim. It is a memory file of that process
 * (memfd_create), which others of the same user find in /proc/<pid>/fd: however the process ends, nothing is left behind.
 *
 * Whoever asks sets a bit of `wanted` and then due_ticks to 0; the process sees it at its next CUDA call, answers, and
 * counts `answers` up. A process that makes no CUDA call does not answer. Numbers are as of the last answer. */
#ifndef GS_LIVE_H
#define GS_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#define GS_LIVE_MAGIC 0x6c757067u /* "gpul" */
#define GS_LIVE_VERSION 2u
#define GS_LIVE_NAME "gpushim-live" /* of the memory file */
#define GS_LIVE_DEVICES_MAX 16u
#define GS_LIVE_PATH_BYTES 2400u

enum gs_live_wanted {
	GS_LIVE_SNAPSHOT = 1,
	GS_LIVE_FIGURES = 2,
	GS_LIVE_SIGNAL = 4, /* this one and the next: by the process itself */
	GS_LIVE_PEAK = 8,
	GS_LIVE_PURGE = 16 /* gives back what it holds free on the devices of `purge`: another process needs it */
};

struct gs_live_device {
	int32_t ordinal; /* as the process numbers it */
	uint32_t spare;
	uint64_t allocated_bytes; /* live, as asked for */
	uint64_t reserved_bytes;  /* physical memory held */
	uint64_t reserved_peak_bytes;
	uint64_t idle_bytes; /* of these, free: pending ones too */
};

/* A device from its first use on; the UUID tells it between processes. */
struct gs_live_used {
	uint8_t uuid[16];
	int32_t ordinal;
};

struct gs_live_page {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;
	_Atomic uint32_t wanted;    /* sum of enum gs_live_wanted */
	_Atomic uint64_t due_ticks; /* time-stamp counter at which the process looks here */
	_Atomic uint64_t answers;
	_Atomic uint32_t purge;	     /* set of the rows of `used` */
	_Atomic uint32_t used_count; /* rows that are complete */
	struct gs_live_used used[GS_LIVE_DEVICES_MAX];

	int32_t snapshot_error; /* of the last snapshot: 0 or negative */
	char snapshot_path[GS_LIVE_PATH_BYTES];

	uint64_t elapsed_ns; /* since the start of gpushim, of the figures below */
	uint64_t launches;
	uint64_t waits;		 /* calls that exist to wait */
	uint64_t wait_ns;	 /* host time in them */
	uint32_t device_count;
	struct gs_live_device devices[GS_LIVE_DEVICES_MAX];
};
_Static_assert(sizeof(struct gs_live_page) <= 4096, "one page");

#endif
