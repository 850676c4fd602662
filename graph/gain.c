/* See gain.h. */
#include "graph/gain.h"

#define WEIGHT 4	 /* a try is a quarter of the mean */
#define TRIES_LEAST 3u	 /* that are no chance */
#define TRIES_GOOD 32u	 /* so many without a rest, and the last rests are forgotten */
#define REST_LEAST 16u
#define RESTS_MOST 10u

bool gsg_gain_note(struct gsg_gain *gain, int64_t gained_ns)
{
	gain->mean_ns += (gained_ns - gain->mean_ns) / (gain->tries == 0 ? 1 : WEIGHT);
	gain->tries++;
	if (gain->tries >= TRIES_GOOD && gain->mean_ns > 0)
		gain->rests = 0;
	if (gain->tries < TRIES_LEAST || gain->mean_ns >= 0)
		return false;
	gain->rest = REST_LEAST << gain->rests;
	if (gain->rests < RESTS_MOST)
		gain->rests++;
	gain->tries = 0;
	return true;
}

bool gsg_gain_rests(struct gsg_gain *gain)
{
	if (gain->rest == 0)
		return false;
	gain->rest--;
	return true;
}
