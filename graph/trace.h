/* A trace: a straight line of launches on one stream that has been seen to repeat, and the graph that was built for it.
 *
 * The graph is made node by node from the recorded launches, never by capturing the program's streams, each node behind the one before.
 * It has one executable, or several that take turns where arguments change. What each of them was last told about the arguments is kept
 * (the driver has no question for it): launches that come by are compared with that, and only nodes that differ are patched.
 *
 * An executable may be patched while an earlier launch of it is still under way: CUDA documents that what
 * cuGraphExecKernelNodeSetParams changes "only affect[s] future launches", and that launches which are queued or running "are not
 * affected". Several take turns because the driver has more to do then, and because arguments often alternate. */
#ifndef GSG_TRACE_H
#define GSG_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/gain.h"
#include "graph/launch.h"

#define GSG_TRACE_NODES 512u /* at most */
#define GSG_TRACE_LEAST 4u   /* fewer launches gain nothing by a graph */
#define GSG_TRACE_TURNS 4u   /* executables */

/* A launch in a graph, as the driver names it. */
struct gsg_node {
	void *handle;
	void *function; /* not always that of the launch; finding it out takes longer than a patch */
};

/* The driver, as far as it is needed here. 0, or a negative GS_E_*. */
struct gsg_graph_ops {
	/* Exactly this launch, as the program would have made it; sees to errors itself. */
	void (*launch)(void *user, const struct gsg_launch *launch);

	/* An empty graph, in the context of the launch. */
	int (*graph_make)(void *user, const struct gsg_launch *first, void **ret_graph);
	/* before: the node ahead of it; NULL for the first one. */
	int (*node_add)(void *user, void *graph, const struct gsg_node *before, const struct gsg_launch *launch,
			struct gsg_node *ret_node);
	int (*exec_make)(void *user, void *graph, void **ret_exec);
	int (*node_patch)(void *user, void *exec, const struct gsg_node *node, const struct gsg_launch *launch);
	/* On the stream of the launch. */
	int (*exec_launch)(void *user, void *exec, const struct gsg_launch *first);
	void (*exec_end)(void *user, void *exec);
	void (*graph_end)(void *user, void *graph);

	uint64_t (*now_ns)(void *user);
};

struct gsg_trace_node {
	const struct gsg_launch *launch; /* as recorded */
	struct gsg_node node;
	size_t values_at;		 /* of its arguments, in those of an executable */
	uint64_t token;			 /* gsg_launch_token of it */
};

struct gsg_trace_exec {
	void *exec;	       /* NULL: there is none yet */
	unsigned char *values; /* what its nodes were last told */
};

struct gsg_trace {
	size_t pages_bytes; /* of this and all that it points to */
	uint64_t place;   /* of the stream, where it begins (graph/record.h) */
	uint32_t count;	    /* launches */
	uint32_t exec_count;
	bool bad; /* the driver refused something: it has no graph, and is kept so as not to be built again */
	struct gsg_trace_node *nodes;
	void *graph;
	struct gsg_trace_exec execs[GSG_TRACE_TURNS];
	uint32_t turn;	     /* the executable that the next launch will be of */
	uint32_t dirty_count;
	uint64_t dirty[GSG_TRACE_NODES / 64]; /* nodes whose arguments differ from what that one was told */
	uint64_t replays;
	struct gsg_gain gain;
	struct gsg_trace *next; /* that came after it the last time; it may be gone. NULL = none yet */

	/* Of the cache. */
	struct gsg_trace *newer, *older; /* by last use */
	struct gsg_trace *chain;	 /* with the same hash */
};

/* Copies the launches, which lie one behind the other. NULL: no pages. */
struct gsg_trace *gsg_trace_new(const struct gsg_launch *const *launches, uint32_t count, uint64_t place);
void gsg_trace_free(struct gsg_trace *trace); /* without a graph */

/* The same launches, arguments aside. */
bool gsg_trace_is(const struct gsg_trace *trace, const struct gsg_launch *const *launches, uint32_t count);

/* With one executable. After an error the trace is bad. */
int gsg_trace_build(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user);

/* Gives back what the driver holds. */
void gsg_trace_ruin(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user);

/* Launches come by again, from the first. */
void gsg_trace_begin(struct gsg_trace *trace);

/* Whether this one is the launch at that place, whatever its arguments; notes whether they differ. */
bool gsg_trace_match(struct gsg_trace *trace, uint32_t at, const struct gsg_launch *launch);

/* All have matched: launches the graph with their arguments. An error: nothing was launched, and the trace is bad. */
int gsg_trace_launch(struct gsg_trace *trace, const struct gsg_graph_ops *ops, void *user,
		     const struct gsg_launch *const *launches);

/* What it is estimated to hold, on the host and the device: drivers do not tell. */
uint64_t gsg_trace_bytes(const struct gsg_trace *trace);

#endif
