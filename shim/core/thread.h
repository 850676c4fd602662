/* What the shim knows of each thread: one small initial-exec TLS record, no destructor.
 *
 * `inside` is set while our own code or the driver runs below one of our entries: whatever comes back in by the same
 * thread passes straight through and is not counted. `runtime_fn` and `caller` belong to the outermost runtime call, so
 * that work counted at the driver can be told by the name and the place that the program used. */
#ifndef GS_CORE_THREAD_H
#define GS_CORE_THREAD_H

#include <stdint.h>

struct gs_counter_block;
struct gs_route;
struct gs_sample_pair;

/* Questions whether work is done that the thread asks one after the other. */
struct gs_polls {
	uint32_t count;
	uint64_t first_ticks, last_ticks;
};

struct gs_thread {
	uint32_t inside;                   /* > 0: pass through */
	uint32_t tid;                      /* kernel thread id; 0 until first asked */
	uint32_t serial;                   /* unlike tid never used again; 0 until first asked */
	uint32_t runtime_fn;               /* enum gs_fn of the runtime call in progress + 1; 0 = none */
	const void *caller;                /* its return address: the program's code */
	const void *quick_runtime;         /* struct gs_runtime that may be left out, see shim/api/quick.h; NULL: none */
	uint64_t quick_context;            /* id of the context in which that holds */
	uint32_t quick_kinds;              /* and the calls, by enum gs_quick_kind */
	uint64_t quick_unloads;            /* gs_lookup_unloads of which this thread knows */
	uint32_t stack;                    /* that gs_note_stack took last */
	uint32_t driver_fn;                /* enum gs_fn of the driver call in progress, or of the last one */
	const void *served_from;           /* who called the driver entry that we served last; for shim/api/quick.h */
	uint32_t memory_work;              /* calls that get or give memory, or wait for that, made for the allocator */
	struct gs_polls polls;
	uint64_t launches;                 /* of this thread */
	struct gs_sample_pair *sample;     /* a launch in progress is one: shim/watch/sample.h */
	struct gs_counter_block *counters; /* this thread's; NULL until its first call */
	struct gs_route *routes;           /* likewise, of shim/wrap/quick.c; NULL until it learns one */
};

extern _Thread_local struct gs_thread gs_thread __attribute__((tls_model("initial-exec")));

uint32_t gs_thread_id(void);
uint32_t gs_thread_serial(void);

/* In the child of a fork: the numbers of the parent's thread no longer hold. */
void gs_thread_reset(void);

#endif
