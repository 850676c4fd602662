/* Copies of what a snapshot shows, in pages of our own: taken first and quickly (the walk of an allocator holds its
 * lock), written out afterwards at the pace of the file system. */
#ifndef GS_SNAP_GATHER_H
#define GS_SNAP_GATHER_H

#include "shim/snap/source.h"

/* Rows of one size. What does not fit is only counted; gs_gather then makes room and asks again. */
struct gs_rows {
	void *rows;
	size_t row_bytes;
	size_t capacity; /* rows that fit */
	size_t count;	 /* rows offered; count <= capacity once gathered */
};

struct gs_segment_row {
	uint64_t address;
	uint64_t size_bytes;
	int device;
	enum gsa_segment_kind kind;
};

struct gs_block_row {
	struct gsa_block_info info;
	enum gsa_block_state state;
	uint32_t segment; /* row */
};

struct gs_gathered {
	struct gs_rows segments; /* struct gs_segment_row */
	struct gs_rows blocks;	 /* struct gs_block_row */
	struct gs_rows live;	 /* struct gs_live */
	struct gs_rows events;	 /* struct gs_event, oldest first */
	struct gs_rows launches; /* struct gs_launch; those not known to be done, all of them after an error */
	struct gs_rows steps;	 /* struct gs_step */
	struct gs_rows threads;	 /* struct gs_snapshot_thread */
	uint64_t events_added;	 /* since the start of the process */
};

/* 0, or GS_E_NO_HOST_MEMORY with nothing kept. */
int gs_gather(struct gs_gathered *gathered, const struct gs_snapshot_source *source);
void gs_gather_drop(struct gs_gathered *gathered);

#endif
