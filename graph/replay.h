/* graph:auto, between the submission queue and the driver: launches that repeat are held until they make up a straight line
 * of launches that a graph was built for (graph/trace.h), and submitted by one launch of that graph.
 *
 * Exact, whatever comes: a launch is held only behind others that match the beginning of a trace. When one does not match,
 * when somebody waits for what is queued, when nothing follows for a while, or when other work comes for the same stream, what is
 * held is launched one by one, in order, with the arguments it came with. Every launch reaches the driver once, those of a
 * stream in their order, and those of a legacy default stream in their order with all others of its context.
 *
 * One thread, the queue's own, makes all calls but the reading of the statistics. Knows nothing of CUDA. */
#ifndef GSG_REPLAY_H
#define GSG_REPLAY_H

#include <stdatomic.h>
#include <stdint.h>

/* X(name, key, text): why a launch was not part of a graph. From MISMATCH on it had been held for one. */
#define GSG_PLAIN_REASONS(X)                                                                                           \
	X(NO_TRACE, "no_trace", "not seen to repeat")                                                                  \
	X(RESTING, "resting", "its graph does not pay for the time being")                                             \
	X(UNFIT, "unfit", "a launch that graphs cannot hold, or too few between two waits")                            \
	X(MISMATCH, "mismatch", "another launch came")                                                                 \
	X(FLUSH, "flush", "the program waited, asked, or changed something")                                           \
	X(LATE, "late", "no launch came in time")                                                                      \
	X(BETWEEN, "between", "other work came for its stream")                                                        \
	X(ORDER, "order", "the default stream and another one took turns")                                             \
	X(REFUSED, "refused", "the driver refused the graph")

enum gsg_plain_reason {
#define GSG_PLAIN_ENUM(name, key, text) GSG_PLAIN_##name,
	GSG_PLAIN_REASONS(GSG_PLAIN_ENUM)
#undef GSG_PLAIN_ENUM
	    GSG_PLAIN_COUNT
};

/* What was done, for reports; shim/submit/graph.h hands it out. Written by the queue's thread, read by any.
 * launches = replayed + the sum of plain, but for those that are held at the moment. */
struct gsg_replay_stats {
	_Atomic uint64_t launches;		 /* that came by */
	_Atomic uint64_t replayed;		 /* of them, as nodes of graphs */
	_Atomic uint64_t plain[GSG_PLAIN_COUNT]; /* of them, one by one */
	_Atomic uint64_t falls[GSG_PLAIN_COUNT]; /* how often what was held was launched one by one */
	_Atomic uint64_t graph_launches;
	_Atomic uint64_t patched;   /* nodes that got other arguments before a launch */
	_Atomic uint64_t periods;   /* repeats that were found */
	_Atomic uint64_t built;	    /* traces */
	_Atomic uint64_t refused;   /* traces that the driver would not make, patch or launch */
	_Atomic uint64_t evicted;   /* traces that gave way to others */
	_Atomic uint64_t forgotten; /* traces that ended with code, a context or for want of memory */
	_Atomic uint64_t suspended; /* times that a trace was found not to pay */
	_Atomic uint64_t live;	    /* traces that there are */
	_Atomic uint64_t live_bytes; /* what they are estimated to hold */
	_Atomic uint64_t build_ns;
	_Atomic int64_t saved_ns; /* host time of the queue's thread, as estimated by the launches beside; without build_ns */
};

#endif
