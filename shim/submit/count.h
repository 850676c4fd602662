/* What was put off and what was not, for reports. Thread-safe; figures of one moment need not fit together. */
#ifndef GS_SUBMIT_COUNT_H
#define GS_SUBMIT_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "shim/api/fn.h"

/*  X(name, key in the snapshot) */
#define GS_SUBMIT_KINDS(X)                                                                                             \
	X(LAUNCH, "launches")                                                                                          \
	X(COPY, "copies") /* within a device */                                                                        \
	X(SET, "memsets")                                                                                              \
	X(RECORD, "event_records")                                                                                     \
	X(WAIT, "event_waits")

enum gs_submit_kind {
	GS_SUBMIT_NOTHING, /* not to be put off */
#define GS_SUBMIT_KIND_ENUM(name, key) GS_SUBMIT_##name,
	GS_SUBMIT_KINDS(GS_SUBMIT_KIND_ENUM)
#undef GS_SUBMIT_KIND_ENUM
	    GS_SUBMIT_KIND_COUNT
};

/*  X(name, key in the snapshot, meaning): why work of these kinds was made at once */
#define GS_SUBMIT_REASONS(X)                                                                                           \
	X(UNKNOWN, "not_seen_before", "nothing like it had succeeded before")                                          \
	X(STREAM, "per_thread_stream", "per-thread default streams mean another one in each thread")                   \
	X(CAPTURE, "capture", "a capture was open")                                                                    \
	X(SIGHT, "not_all_seen", "not all work passes gpushim, or an error sticks")                                    \
	X(ATTRIBUTES, "attributes", "attributes or parameters of the launch that are not understood")                  \
	X(KERNEL, "kernel", "the kernel waits for others, or its parameters are not known")                            \
	X(MEMORY, "memory", "memory that gpushim does not serve")                                                      \
	X(EVENT, "event", "an event that other processes may share, or that was not seen made")                        \
	X(SAMPLED, "sampled", "its time on the device was measured")                                                   \
	X(LEAD, "far_ahead", "the devices had as much to do as the driver takes without waiting")                     \
	X(RESTS, "no_gain", "too few between waits, or nothing gained by it")                                          \
	X(ENDED, "ended", "work that was put off has failed, or the queue is closed")

enum gs_submit_reason {
	GS_SUBMIT_MAY,
#define GS_SUBMIT_REASON_ENUM(name, key, text) GS_SUBMIT_FOR_##name,
	GS_SUBMIT_REASONS(GS_SUBMIT_REASON_ENUM)
#undef GS_SUBMIT_REASON_ENUM
	    GS_SUBMIT_REASON_COUNT
};

void gs_submit_count_put(enum gs_submit_kind kind); /* by who has the queue for himself: gsg_queue_put_begin */
void gs_submit_count_direct(enum gs_submit_reason reason);

/* The call had to wait for what was put off. */
void gs_submit_count_flush(enum gs_fn fn, uint64_t ns);

uint64_t gs_submit_puts(enum gs_submit_kind kind);
uint64_t gs_submit_directs(enum gs_submit_reason reason);
const char *gs_submit_kind_key(enum gs_submit_kind kind);
const char *gs_submit_reason_key(enum gs_submit_reason reason);

/* Functions that waited for what was put off, those that waited longest first. Returns how many, at most `limit`. */
struct gs_submit_flush {
	const char *name; /* exported symbol */
	uint64_t count, ns;
};
size_t gs_submit_flushes(struct gs_submit_flush *ret_flushes, size_t limit, uint64_t *ret_count, uint64_t *ret_ns);

#endif
