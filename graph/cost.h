/* What something costs, as a mean of samples: the last ones count most, and one that is far above the others counts as four times
 * the mean, because the processor was lost, or the device was waited for. */
#ifndef GSG_COST_H
#define GSG_COST_H

#include <stdint.h>

#define GSG_COST_WEIGHT 8u
#define GSG_COST_MOST 4u

/* The mean with one sample more; 0 = there was none before. */
static inline uint64_t gsg_cost_mean(uint64_t mean_ns, uint64_t spent_ns)
{
	if (mean_ns == 0)
		return spent_ns != 0 ? spent_ns : 1;
	if (spent_ns > GSG_COST_MOST * mean_ns)
		spent_ns = GSG_COST_MOST * mean_ns;
	return mean_ns - mean_ns / GSG_COST_WEIGHT + spent_ns / GSG_COST_WEIGHT;
}

#endif
