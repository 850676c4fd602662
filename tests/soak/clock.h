/* Vector clocks: for each stream the number of its last operation that is known to come before. */
#ifndef SOAK_CLOCK_H
#define SOAK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { STREAMS_MAX = 128 }; /* that a program ever has */

struct clock {
	uint32_t at[STREAMS_MAX];
};

static inline void clock_join(struct clock *clock, const struct clock *other)
{
	for (unsigned i = 0; i < STREAMS_MAX; i++)
		if (clock->at[i] < other->at[i])
			clock->at[i] = other->at[i];
}

/* All that `needed` names comes before. */
static inline bool clock_covers(const struct clock *clock, const struct clock *needed)
{
	for (unsigned i = 0; i < STREAMS_MAX; i++)
		if (clock->at[i] < needed->at[i])
			return false;
	return true;
}

#endif
