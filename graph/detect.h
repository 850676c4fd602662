/* Finds the period of a stream of tokens while it goes by: a token is the hash of a launch.
 *
 * A distance is watched: how many tokens in a row have been the same as the one so far back. When one is not, the distance to the
 * last place that ended in the same four tokens is watched next; so a loop inside another one is passed over for the outer one when it
 * is short. Because the outer one may be long, or end before it has been seen twice, the shortest such distance is watched beside it. A
 * token costs two comparisons, one hash and one look into a table.
 *
 * Pure: no clock, no system, no CUDA. */
#ifndef GSG_DETECT_H
#define GSG_DETECT_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/launch.h"

#define GSG_DETECT_TOKENS 4096u /* a power of two; longer periods are not found */
#define GSG_DETECT_GRAM 4u	/* tokens that say where we are */

struct gsg_watch {
	uint32_t period; /* the distance; 0 = none */
	uint64_t run;	 /* how many of the last tokens are the same as those a period before */
};

struct gsg_detect {
	uint64_t tokens[GSG_DETECT_TOKENS]; /* the last ones, by their number */
	uint32_t last[GSG_DETECT_TOKENS];   /* by hash of four tokens: number of the one after them */
	uint64_t count;			    /* tokens so far */
	struct gsg_watch outer;		    /* as long as it holds */
	struct gsg_watch inner;		    /* the shortest */
};

/* All zero is a valid start. */
void gsg_detect_push(struct gsg_detect *detect, uint64_t token);

/* A hash of the last four tokens, as far as there are so many; 0 otherwise. */
uint64_t gsg_detect_gram(const struct gsg_detect *detect);

/* The token before the last `back` ones; back < GSG_DETECT_TOKENS and fewer than there are. */
static inline uint64_t gsg_detect_token(const struct gsg_detect *detect, uint64_t back)
{
	return detect->tokens[(detect->count - 1 - back) & (GSG_DETECT_TOKENS - 1)];
}

/* How long a run is enough: two whole periods, three of short ones, and at_least. */
static inline uint64_t gsg_watch_enough(uint32_t period, uint64_t at_least)
{
	uint64_t enough = period < 8 ? 3 * (uint64_t)period : 2 * (uint64_t)period;

	return enough > at_least ? enough : at_least;
}

/* The last token makes it enough, or makes whole periods more than enough. */
static inline bool gsg_watch_found(const struct gsg_watch *watch, uint64_t at_least)
{
	uint64_t enough = gsg_watch_enough(watch->period, at_least);

	return watch->period != 0 && watch->run >= enough && (watch->run - enough) % watch->period == 0;
}

/* Hashes of bytes, to make tokens of. */
uint64_t gsg_hash(const void *bytes, uint64_t size_bytes, uint64_t seed);

/* The token of a launch, its arguments aside. */
static inline uint64_t gsg_launch_token(const struct gsg_launch *launch)
{
	return gsg_hash(&launch->shape, sizeof(launch->shape) + launch->shape.attribute_bytes, 0);
}

#endif
