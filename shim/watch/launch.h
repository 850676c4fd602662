/* The launch log: the newest launches, copies and memsets of each thread, by kernel and place of the program. The one
 * place where submitted work is noted.
 *
 * Each thread writes its own ring without a lock and without waiting; anybody may read all of them. The name of a kernel
 * is learned when it is first launched from a place, because the driver tells nothing any more once an error has stuck to
 * the context; handles are used again after modules were unloaded, which is why unloading makes everything be learned
 * anew. The stack is that of the first launch with the same key of the place (shim/stack/key.h).
 *
 * A thread's ring is part of its counters' block (shim/core/counter.h) and goes with it to a later thread. */
#ifndef GS_WATCH_LAUNCH_H
#define GS_WATCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/call.h"
#include "shim/api/cuda.h"
#include "shim/watch/proven.h"

/*  X(name, key in the snapshot, meaning) */
#define GS_WORK_KINDS(X)                                                                                               \
	X(KERNEL, "kernel", "a kernel was launched")                                                                   \
	X(GRAPH, "graph", "an executable graph was launched")                                                          \
	X(COPY, "copy", "an asynchronous copy")                                                                        \
	X(SET, "set", "an asynchronous memset")

enum gs_work_kind {
#define GS_WORK_KIND_ENUM(name, key, text) GS_WORK_##name,
	GS_WORK_KINDS(GS_WORK_KIND_ENUM)
#undef GS_WORK_KIND_ENUM
	GS_WORK_KIND_COUNT
};

/*  X(name, key in the snapshot, meaning) */
#define GS_WORK_STATES(X)                                                                                              \
	X(OPEN, "open", "not known to be done")                                                                        \
	X(DONE, "done", "known to have run to its end without an error")                                               \
	X(CAPTURED, "captured", "became part of a graph")                                                              \
	X(REFUSED, "refused", "the call itself returned an error that sticks; only where launches block")

enum gs_work_state {
#define GS_WORK_STATE_ENUM(name, key, text) GS_WORK_##name,
	GS_WORK_STATES(GS_WORK_STATE_ENUM)
#undef GS_WORK_STATE_ENUM
	GS_WORK_STATE_COUNT
};

struct gs_launch {
	uint64_t time_ns; /* CLOCK_MONOTONIC, when the call had returned */
	uint64_t stream;  /* id; 0 = captured */
	uint32_t name;	  /* string: the kernel as its module names it, or the function that was called */
	uint32_t stack;
	uint32_t thread; /* kernel thread id */
	uint8_t kind;	 /* enum gs_work_kind */
	uint8_t state;	 /* enum gs_work_state */
};

/* Launches kept per thread; 0 = no log. Once, at start. */
void gs_launch_init(uint64_t capacity);

bool gs_launch_logs(void); /* there is a log */

/* CUDA_LAUNCH_BLOCKING is set: a launch that returns an error that sticks is its cause. */
bool gs_launch_blocks(void);

/* The call has submitted work to the stream; or, where launches block, has returned an error that sticks. function: CUfunction or CUkernel of
 * a kernel; NULL otherwise. To be called as soon as the driver has returned: takes the time for gs_call_end too. */
void gs_launch_note(struct gs_call *call, enum gs_work_kind kind, const void *function, CUstream stream, CUresult result);

/* The same for work that the log does not hold. */
void gs_launch_submitted(const struct gs_call *call, CUstream stream, CUresult result);

/* The stream that the handle means in this call, for what shows how far work has come (shim/watch/proven.h). False: there
 * is no log. */
bool gs_launch_stream(const struct gs_call *call, CUstream handle, struct gs_work_stream *ret_stream);

/* The stream was waited for, or found idle; before: taken before that. */
void gs_launch_stream_done(const struct gs_work_stream *stream, uint64_t before);

/* A copy to the host on the default stream returned, which it does when it is done. */
void gs_launch_copied(const struct gs_call *call);

/* Room for what the calling thread submitted last (hazard.h); NULL: there is no log. */
struct gs_hazard_work *gs_launch_work(void);

/* Code was unloaded, or a context ended: handles of functions may be used again. */
void gs_launch_code_gone(void);

/* Copies what the logs hold, thread by thread, each oldest first. Returns how many there are; at most capacity are
 * written. ret_lost: older ones that were overwritten and are not known to be done; may be NULL. */
size_t gs_launch_read(struct gs_launch *launches, size_t capacity, uint64_t *ret_lost);

#endif
