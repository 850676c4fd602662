/* What a ring file holds (report/ring_file.h), checked. Nothing in the file is believed: sizes and places are checked
 * against its length, names against what names may be. Slots that were being written are left out. */
#ifndef GSR_RING_READ_H
#define GSR_RING_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/ring_file.h"

struct gsr_alive {
	uint64_t address, size_bytes, time_ns, stream;
	uint32_t stack, thread;
	unsigned live_class, device; /* enum gs_ring_class */
};

struct gsr_ring {
	char *bytes;
	uint64_t length;
	const struct gs_ring_header *header;
	uint64_t *events; /* GS_RING_EVENT_WORDS each, oldest first */
	size_t event_count;
	uint64_t event_end;
	struct gsr_alive *alive;
	size_t alive_count;
	size_t torn;
	const struct gs_ring_record **records[4]; /* by kind */
	size_t record_count[4];
};

/* Says on stderr what is wrong with it; GS_E_INVALID. In any case gsr_ring_drop. */
int gsr_ring_read(const char *path, struct gsr_ring *ret_file);
void gsr_ring_drop(struct gsr_ring *file);

/* A number of something that is there, or 0: none. */
uint64_t gsr_ring_known(const struct gsr_ring *file, enum gs_ring_record_kind kind, uint64_t number);

/* The text ends within its room. */
bool gsr_ring_ends(const char *text, size_t capacity);

#endif
