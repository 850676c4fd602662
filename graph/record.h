/* The recording of a period: launches are copied as they go by, once a stream is known to repeat itself, and then cut into
 * traces.
 *
 * A cut lies where the program waits or does other work (so that nothing has to be launched one by one at each wait), around launches that graphs
 * cannot hold, and where a trace would be too long. Where there is none of the first, the first trace begins at a place that the period
 * has once only, if it has one: where others begin, too, a trace is often tried in vain. A short period is recorded several times over,
 * up to the length of a trace. One stream is recorded at a time. Pure, but for pages. */
#ifndef GSG_RECORD_H
#define GSG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/detect.h"
#include "graph/launch.h"

#define GSG_PLACE 16u /* launches that say where a stream is; a power of two */
#define GSG_PLACE_FACTOR 0x9e3779b97f4a7c15u
#define GSG_SQUARE(x) ((x) * (x))

/* The hash of the last sixteen launches, made from that of one launch before: a token comes, and the one sixteen before goes. A trace
 * begins where a stream is when that is what it was when the trace was recorded, the first launch of the trace included. */
static inline uint64_t gsg_place_push(uint64_t place, uint64_t token, uint64_t gone)
{
	return place * GSG_PLACE_FACTOR + token -
	       gone * GSG_SQUARE(GSG_SQUARE(GSG_SQUARE(GSG_SQUARE(GSG_PLACE_FACTOR))));
}

enum gsg_recording_state {
	GSG_RECORDING_OFF,
	GSG_RECORDING_AWAITS_FIRST, /* the next launch that comes after a wait begins it */
	GSG_RECORDING_ON,
	GSG_RECORDING_DONE, /* to be cut */
};

struct gsg_recording {
	enum gsg_recording_state state;
	uint32_t length;  /* launches to record: whole periods */
	const struct gsg_watch *watch; /* of the stream */
	uint32_t period;  /* of it; it must stay that way */
	uint64_t run;	  /* likewise, and not be broken */
	uint32_t count;	  /* recorded so far */
	uint32_t cut;	  /* up to here it has been cut */
	size_t used_bytes;
	unsigned char *pages; /* NULL: none yet */
	const struct gsg_launch *launches[GSG_DETECT_TOKENS];
	uint64_t tokens[GSG_DETECT_TOKENS]; /* of the launches, as gsg_place_push takes them */
	bool first[GSG_DETECT_TOKENS];
};

/* has_first: some launch in each period comes after a wait. exact_period: with which the launches repeat arguments and all;
 * 0: not known. False: no pages, or too long a period. */
bool gsg_recording_begin(struct gsg_recording *recording, const struct gsg_watch *watch, uint32_t exact_period, bool has_first,
			 uint32_t chunk);

/* The next launch of the stream, whose token has been pushed. first: a wait or other work came before it. The recording ends, OFF,
 * when the period is broken. */
void gsg_recording_take(struct gsg_recording *recording, const struct gsg_launch *launch, uint64_t token, bool first);

/* The next trace to be: from ret_start on. Returns how many launches; 0: there are no more, and the recording is off. ret_place: where
 * it begins. */
uint32_t gsg_recording_cut(struct gsg_recording *recording, uint32_t chunk, uint32_t *ret_start, uint64_t *ret_place);

#endif
