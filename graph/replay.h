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
#include <stdbool.h>
#include <stdint.h>

#include "graph/cache.h"
#include "graph/detect.h"
#include "graph/launch.h"
#include "graph/record.h"
#include "graph/trace.h"

/* X(name, key, text): why a launch was not part of a graph. From MISMATCH on it had been held for one. */
#define GSG_PLAIN_REASONS(X)                                                                                           \
	X(NO_TRACE, "no_trace", "not seen to repeat, or too few between two waits")                                    \
	X(RESTING, "resting", "its graph does not pay for the time being")                                             \
	X(SLOW, "slow", "launches came too far apart for a graph")                                                    \
	X(UNFIT, "unfit", "graphs cannot hold the like of it")                                                         \
	X(MISMATCH, "mismatch", "another launch came")                                                                 \
	X(FLUSH, "flush", "the program waited, asked, or changed something")                                           \
	X(LATE, "late", "no launch came in time")                                                                      \
	X(BETWEEN, "between", "other work came for its stream")                                                        \
	X(ORDER, "order", "the default stream and another one took turns")                                             \
	X(BUILD, "build", "a graph was built")                                                                         \
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

#define GSG_REPLAY_LANES 32u /* streams that are looked at, at one time */

struct gsg_replay_options {
	uint32_t chunk;	      /* launches in one graph, at most */
	uint64_t cache_bytes; /* for all graphs */
	uint64_t slow_ticks;  /* launches of a stream that come further apart are not looked at; 0 = all are */
	uint64_t late_ticks;  /* of a stream that gets no launch while others do: what is held for longer is launched */
	bool eager;	      /* whether it pays or not: for tests of those who use it */
};

/* How well a period is served. */
struct gsg_served {
	uint64_t plain, count; /* launches of the stream, when it was last found */
	uint32_t skip;	       /* times to pass it over, since recordings of it led to nothing, */
	uint32_t skip_next;    /* and next time */
};

/* What is known of one stream. */
struct gsg_lane {
	uint64_t context_id; /* 0: free */
	void *stream;
	bool legacy;
	uint64_t used; /* when it was last: launches of all lanes */

	struct gsg_trace *trace; /* that the last launches match; NULL = none is held */
	uint32_t at;		 /* so many of them, which are held */
	uint64_t held_from;	 /* the position of the first */
	const struct gsg_launch *held[GSG_TRACE_NODES];

	uint64_t recent[GSG_PLACE]; /* tokens of the last launches that did not pass by as slow, without their arguments, */
	uint32_t recent_at;	    /* which of them is the oldest, */
	uint64_t place;		    /* and the hash of them: where the stream is */
	struct gsg_trace *last;		  /* the last launch was the last one of it; NULL = it was none */
	uint64_t count;			  /* launches */
	uint64_t put_ticks;		  /* of the last launch, */
	uint64_t gap_ticks;		  /* and how far apart they come, about */
	bool slow;			  /* too far */
	uint64_t streak;		  /* launches in a row that were held and went by graphs, or are held */
	bool apart;			  /* other work has come since the last launch */
	uint64_t since_first;		  /* launches since one that came after a wait or other work */
	uint64_t plain;			  /* launches made one by one */
	struct gsg_served served[2];	  /* of the outer and the inner period of the shapes */
	struct gsg_detect shapes;	   /* tokens of launches without arguments, */
	struct gsg_detect exact;	   /* and with them; both know those that come after a wait */
};

struct gsg_replay {
	const struct gsg_graph_ops *ops;
	void *user;
	struct gsg_replay_options options;
	struct gsg_replay_stats stats;
	struct gsg_cache cache;
	struct gsg_lane *lanes[GSG_REPLAY_LANES]; /* NULL from the first free one on */
	uint32_t holding;			  /* lanes that hold something */
	uint32_t caution;			  /* powers of two by which periods are awaited longer, since traces ended too soon */
	uint64_t plain_ns;			  /* a launch that is made alone, the mean */
	uint64_t plain_timed;			  /* so many were timed */
	struct gsg_lane *recorded;		  /* whose launches are recorded */
	uint32_t recorded_built;		  /* traces that were built of this recording */
	struct gsg_recording recording;
};

/* The structure is zero. */
void gsg_replay_init(struct gsg_replay *replay, const struct gsg_graph_ops *ops, void *user,
		     const struct gsg_replay_options *options);

/* The next launch, at this position of the queue. Returns the position of the oldest launch that is held, or GSG_NONE_HELD. */
uint64_t gsg_replay_run(struct gsg_replay *replay, const struct gsg_launch *launch, uint64_t position);

/* Other work is about to be submitted to the stream: what is held there, or has to come before, is launched. Returns likewise. */
uint64_t gsg_replay_between(struct gsg_replay *replay, uint64_t context_id, void *stream, bool legacy);

/* How many launches are held, and the position of the oldest one, or GSG_NONE_HELD. */
uint32_t gsg_replay_held(const struct gsg_replay *replay, uint64_t *ret_oldest);

/* Launches all that is held. */
void gsg_replay_settle(struct gsg_replay *replay, enum gsg_plain_reason reason);

/* The same, and nothing is kept that the driver holds for us: code or a context is about to end, something changed that graphs
 * depend on, or memory is short. */
void gsg_replay_forget(struct gsg_replay *replay);

#endif
