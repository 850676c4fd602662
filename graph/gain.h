/* Whether something pays: a moving mean of what each try gained, and rests that grow as long as it does not.
 *
 * Nothing is given up for good: after a rest it is tried again, and what pays for a while rests less the next time. Pure. */
#ifndef GSG_GAIN_H
#define GSG_GAIN_H

#include <stdbool.h>
#include <stdint.h>

struct gsg_gain {
	int64_t mean_ns; /* of what a try gained; negative: lost */
	uint32_t tries;  /* since the last rest */
	uint32_t rest;	 /* chances that will be let go by */
	uint32_t rests;	 /* in a row; the next one takes twice as long */
};

/* What a try gained. True: it does not pay, a rest begins. */
bool gsg_gain_note(struct gsg_gain *gain, int64_t gained_ns);

/* A chance has come; true: it has to be let go by. */
bool gsg_gain_rests(struct gsg_gain *gain);

#endif
