/* What a CUDA call means: the class column of the table.
 *
 * Read by the counters (whether the host time of the call is measured), by stream order (whether the call may leave a
 * copy to the host pending, H4), and by the entries (whether idle memory of ours may help, H28; whether launches that
 * were put off come first, shim/submit/submit.h). */
#ifndef GS_API_CLASS_H
#define GS_API_CLASS_H

/*  X(name, key, timed, submits, to_host, takes, flushes, forgets, tells): timed = measure host time; submits = may give a device
 *  something to do; to_host = may leave a copy to host memory, or a call of the program, pending; takes = the driver may need device memory for it,
 *  other than what the call is for (H28); flushes = what was put off is submitted before it (H17), which for memory
 *  and for work that may be put off itself their handlers see to; forgets = launches that were known to succeed may not do so afterwards (H18);
 *  tells = may return errors of earlier work */
#define GS_CALL_CLASSES(X)                                                                                             \
	X(QUERY, "query", 0, 0, 0, 0, 0, 0, 0) /* answers from the driver's own state */                              \
	X(DOOR, "door", 0, 0, 0, 0, 0, 0, 0) /* hands out further functions */                                        \
	X(CURRENT, "current", 0, 0, 0, 0, 0, 0, 0) /* which context the thread uses */                                \
	X(CONTEXT, "context", 0, 1, 0, 1, 1, 1, 0) /* devices and contexts */                                         \
	X(ALLOC, "alloc", 1, 0, 0, 0, 0, 0, 0) /* device memory */                                                    \
	X(FREE, "free", 1, 0, 0, 0, 0, 0, 0)                                                                          \
	X(HOST_ALLOC, "host_alloc", 1, 0, 0, 0, 1, 0, 0) /* pinned host memory; the handlers see to H28 */            \
	X(HOST_FREE, "host_free", 1, 0, 0, 0, 1, 0, 0)                                                                \
	X(POOL, "pool", 0, 1, 0, 1, 1, 0, 0) /* memory pools */                                                       \
	X(VMM, "vmm", 0, 1, 0, 1, 1, 0, 0) /* virtual memory management */                                            \
	X(IPC, "ipc", 0, 1, 0, 0, 1, 0, 0) /* memory and events of other processes */                                 \
	X(COPY, "copy", 1, 1, 0, 0, 1, 0, 1) /* the host may wait for it */                                           \
	X(COPY_ASYNC, "copy_async", 1, 1, 1, 0, 1, 0, 1)                                                              \
	X(SET, "set", 1, 1, 0, 0, 1, 0, 1)                                                                            \
	X(SET_ASYNC, "set_async", 0, 1, 0, 0, 1, 0, 1)                                                                \
	X(LAUNCH, "launch", 1, 1, 0, 1, 0, 0, 1)                                                                      \
	X(GRAPH_LAUNCH, "graph_launch", 1, 1, 1, 1, 1, 0, 1) /* its nodes may copy to the host */                     \
	X(GRAPH, "graph", 0, 1, 0, 1, 1, 0, 0) /* builds, instantiates, destroys */                                   \
	X(EVENT, "event", 0, 1, 0, 0, 0, 0, 1) /* records */                                                          \
	X(WAIT_EVENT, "wait_event", 0, 1, 0, 0, 0, 0, 1) /* orders a stream behind an event */                        \
	X(CONTEXT_EVENT, "context_event", 0, 1, 0, 0, 1, 0, 1) /* both for a whole context */                         \
	X(STREAM, "stream", 0, 1, 0, 1, 1, 0, 0) /* creates and destroys streams and events */                        \
	X(CAPTURE, "capture", 0, 1, 0, 0, 1, 0, 0)                                                                    \
	X(HOST_FUNC, "host_func", 0, 1, 1, 0, 1, 0, 1) /* the driver calls the program back */                        \
	X(MEM_OP, "mem_op", 0, 1, 1, 0, 1, 0, 1) /* a stream writes or waits for a word */                            \
	X(SYNC, "sync", 1, 0, 0, 0, 1, 0, 1) /* the host waits, by name */                                            \
	X(POLL, "poll", 0, 0, 0, 0, 1, 0, 1) /* the host asks whether something is done */                            \
	X(TIME, "time", 0, 0, 0, 0, 1, 0, 1) /* how long it took from event to event */                               \
	X(MODULE, "module", 1, 1, 0, 1, 1, 0, 0) /* loads and unloads code; may wait */                               \
	X(FUNCTION, "function", 0, 1, 0, 1, 1, 1, 0) /* changes how a kernel will run */                              \
	X(ATTRIBUTE, "attribute", 0, 1, 0, 1, 0, 0, 0) /* likewise by one number; the handlers flush if it is a new one */ \
	X(UNLISTED, "unlisted", 0, 1, 1, 0, 1, 0, 0) /* a driver function that the table does not know */

enum gs_call_class {
#define GS_CLASS_ENUM(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_CLASS_##name,
	GS_CALL_CLASSES(GS_CLASS_ENUM)
#undef GS_CLASS_ENUM
	    GS_CLASS_COUNT
};

/* Compile-time properties, so that an entry carries only the code that its class needs. */
enum {
#define GS_CLASS_TIMED(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_TIMED_##name = (timed),
	GS_CALL_CLASSES(GS_CLASS_TIMED)
#undef GS_CLASS_TIMED
#define GS_CLASS_SUBMITS(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_SUBMITS_##name = (submits),
	    GS_CALL_CLASSES(GS_CLASS_SUBMITS)
#undef GS_CLASS_SUBMITS
#define GS_CLASS_TO_HOST(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_TO_HOST_##name = (to_host),
	    GS_CALL_CLASSES(GS_CLASS_TO_HOST)
#undef GS_CLASS_TO_HOST
#define GS_CLASS_TAKES(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_TAKES_##name = (takes),
		GS_CALL_CLASSES(GS_CLASS_TAKES)
#undef GS_CLASS_TAKES
#define GS_CLASS_FLUSHES(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_FLUSHES_##name = (flushes),
			GS_CALL_CLASSES(GS_CLASS_FLUSHES)
#undef GS_CLASS_FLUSHES
#define GS_CLASS_FORGETS(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_FORGETS_##name = (forgets),
			GS_CALL_CLASSES(GS_CLASS_FORGETS)
#undef GS_CLASS_FORGETS
#define GS_CLASS_TELLS(name, key, timed, submits, to_host, takes, flushes, forgets, tells) GS_TELLS_##name = (tells),
			    GS_CALL_CLASSES(GS_CLASS_TELLS)
#undef GS_CLASS_TELLS
};

#endif
